export { annotationsOf } from './annotations.ts';
export { compareAddresses, recordWebhookUpdate } from './app-addresses.ts';
export { type GithubAppKey, type GithubOauthClient, requireAppKey, requireOauthClient } from './app-key.ts';
export { type CloneNeed, findCloneNeed, recordCloneToken } from './clone-token.ts';
export {
  type ClaimedComment,
  claimComments,
  recordComment,
  recordCommentFailure,
  recordCommentId,
  recordEnded,
  touchComment,
} from './comment.ts';
export { followGithubEvent } from './follow-event.ts';
export { findGithubClient, type GithubClientRow, listGithubClients } from './github-clients.ts';
export {
  type InstallationFacts,
  recordInstallation,
  startInstall,
} from './installation.ts';
export { listGithubApps } from './list-github-apps.ts';
export {
  type CheckRequest,
  type CheckRequestKind,
  isCheckEvent,
  parseCheckRequest,
  requestHash,
} from './parse-check-request.ts';
export { type GithubEventName, isGithubEvent, parseGithubEvent } from './parse-event.ts';
export { deleteGithubApp, type NewGithubApp, recordRegistration, startRegistration } from './registration.ts';
export {
  type ClaimedReport,
  claimReports,
  loadReport,
  noteOnReport,
  type ReportContent,
  recordReport,
  recordReportFailure,
  recordReportId,
  touchReport,
} from './report.ts';
export { type ReportPhase, reportTitle, retryAt } from './report-rules.ts';
export {
  getAppRepository,
  listRepositories,
  type RepositoryFacts,
  recordLink,
  recordRepositories,
  removeLink,
  requireRepository,
} from './repository.ts';
export { appFoldersOf } from './rules.ts';
export * from './schema.ts';
export { type StateInput, takeState } from './state.ts';
export { type GithubReader, listGithubAppOwners, type SyncParts, syncGithubApp } from './sync-github-app.ts';
