export { decodeLogLines, encodeLogLines } from './codec.ts';
export { deleteLogs, listAppLogs, listDeploymentLogs, listEnvironmentLogs } from './delete-logs.ts';
export { listLogServers } from './list-log-servers.ts';
export { readLog } from './read-log.ts';
export { findLogSlot, recordLogChunk } from './record-log-chunk.ts';
export * from './schema.ts';
export { createFolderLogStore, type LogStore } from './store.ts';
export { toLogQuery } from './to-log-query.ts';
