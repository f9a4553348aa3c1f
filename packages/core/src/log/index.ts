// The door to logs.
export { decodeLogLines, encodeLogLines } from './codec.ts';
export { deleteLogs, listAppLogs } from './delete-app-logs.ts';
export { readLog } from './read-log.ts';
export { recordLogChunk } from './record-log-chunk.ts';
export * from './schema.ts';
export { createFolderLogStore, type LogStore } from './store.ts';
