export { decodeLogLines, encodeLogLines } from './codec.ts';
export { readLog } from './read-log.ts';
export { recordLogChunk } from './record-log-chunk.ts';
export * from './schema.ts';
export { createFolderLogStore, type LogStore } from './store.ts';
