export { advanceDeployment } from './advance-deployment.ts';
export {
  approveDeployment,
  findProtected,
  refuseDeployment,
  requestApprovals,
  requireNothingInReview,
} from './approval.ts';
export { approvalRequestMail } from './approval-request-mail.ts';
export { awaitsBuildSql } from './build-order.ts';
export { type BuildSlots, defaultBuildSlots } from './build-slots.ts';
export { cancelDeployment } from './cancel-deployment.ts';
export { cancelWaiting } from './cancel-waiting.ts';
export {
  claimCheckWaits,
  type DueCheckWait,
  deferCheckWait,
  loadCheckedCommit,
  type RequiredChecks,
  recordChecks,
  wakeCheckWaits,
} from './check-wait.ts';
export { createDeployment } from './create-deployment.ts';
export type { CheckResult } from './decide-checks.ts';
export { deploySecrets } from './deploy-secrets.ts';
export { explainApp } from './explain-deployment.ts';
export { failOverdueDeployments } from './fail-overdue-deployments.ts';
export { getDeployment } from './get-deployment.ts';
export { listDeploymentFilters } from './list-deployment-filters.ts';
export { listDeployments } from './list-deployments.ts';
export { loadDeployments } from './load-deployments.ts';
export { isFinished } from './machine.ts';
export { promoteRelease } from './promote-release.ts';
export { type PrunedDeployments, pruneDeployments } from './prune-deployments.ts';
export { type ApprovalRequest, recordApprovalRequest } from './record-approval-request.ts';
export { recordWork } from './record-work.ts';
export { redeploy } from './redeploy.ts';
export { restartApp } from './restart-app.ts';
export { retryDeployment } from './retry-deployment.ts';
export { rollbackApp } from './rollback-app.ts';
export * from './schema.ts';
export type { DeploymentRights } from './start-deployment.ts';
export { startDeployment } from './start-deployment.ts';
export { stopDeployments } from './stop-deployments.ts';
export { findUnfinished } from './store.ts';
