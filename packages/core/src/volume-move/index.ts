export { advanceMove, failMove, listActiveMoves } from './advance-move.ts';
export { cancelMove, retryMove } from './cancel-move.ts';
export { listMoves } from './list-moves.ts';
export { moveApps } from './move-apps.ts';
export { releaseLeftVolumes } from './release-left-volumes.ts';
export { type ReportedTasks, recordRestores } from './restores.ts';
export * from './schema.ts';
