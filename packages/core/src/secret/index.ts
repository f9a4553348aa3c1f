export { attachSecretGroup, detachSecretGroup } from './attach-secret-group.ts';
export { createSecretGroup } from './create-secret-group.ts';
export { canOpenSecrets, createSnapshot, findBuildSnapshot, type SnapshotResult } from './create-snapshot.ts';
export { createSecretKeys, type SecretKeys } from './data-key.ts';
export { deleteSecret } from './delete-secret.ts';
export { deleteSecretGroup } from './delete-secret-group.ts';
export { openEnvelope, type Place, sealEnvelope } from './envelope.ts';
export { type GithubSecret, githubSecretId } from './github-secret.ts';
export {
  expiringSecretsSql,
  recordSecretReminders,
  type SecretReminder,
} from './list-expiring-secrets.ts';
export { listMissingNames } from './list-missing-names.ts';
export { listSecretGroups } from './list-secret-groups.ts';
export { listSecretVersions } from './list-secret-versions.ts';
export { listSecrets } from './list-secrets.ts';
export { loadSecretItems } from './load-secret-items.ts';
export { addMasterKey, type KeyWrapper, openMasterKeyFile, pruneMasterKeys } from './master-key.ts';
export { restoreSecret } from './restore-secret.ts';
export { revealSecret } from './reveal-secret.ts';
export { rotateDataKey } from './rotate-data-key.ts';
export { listMasterKeysInUse, type Rotated, rotateValues } from './rotate-values.ts';
export * from './schema.ts';
export { secretReminderMail } from './secret-reminder-mail.ts';
export {
  createSecretSealer,
  type KeyToSeal,
  type SealedSnapshot,
  type SealTarget,
  type SecretSealer,
} from './secret-sealer.ts';
export { updateSecrets } from './update-secrets.ts';
