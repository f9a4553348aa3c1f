export { findOperatedOrganization } from './find-operated-organization.ts';
export { type ControlPlaneFacts, getControlPlane } from './get-control-plane.ts';
export { listShortDisks, listWarnings } from './list-warnings.ts';
export type { OperatorCtx } from './operator.ts';
export { recordTestMail } from './record-test-mail.ts';
export { retryJob } from './retry-job.ts';
export * from './schema.ts';
export { startBackup } from './start-backup.ts';
export { testMail } from './test-mail.ts';
