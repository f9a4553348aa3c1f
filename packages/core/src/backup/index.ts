export { backupFailureMail } from './backup-failure-mail.ts';
export { createBackup } from './create-backup.ts';
export { type BackupSpace, findBackupObstacle } from './find-obstacle.ts';
export { type BackupFacts, listBackups, listBackupWarnings } from './list-backups.ts';
export {
  type BackupFailure,
  type BackupResult,
  backupLeaseMs,
  claimBackup,
  endBackup,
  touchBackup,
} from './run-backup.ts';
export * from './schema.ts';
export { sweepBackups } from './sweep-backups.ts';
