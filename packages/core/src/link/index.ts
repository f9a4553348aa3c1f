export { chunkLines, recordPushes } from './record-pushes.ts';
