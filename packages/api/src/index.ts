// Public exports of the API. The web app composes the database, auth and the live source.
import { createCallerFactory } from './procedures.ts';
import { apiRouter } from './router.ts';

/** Procedures as plain functions, for server components. */
export const createCaller = createCallerFactory(apiRouter);

export { answerAuditExport } from './answer-audit-export.ts';
export { answerAuth } from './answer-auth.ts';
export { answerRequest } from './answer-request.ts';
export {
  type AgentDownload,
  type AgentOffers,
  type ApiConfig,
  type ApiContext,
  type ApiParts,
  createContext,
  organizationHeader,
  type RequestParts,
} from './context.ts';
export { type PublicError, publicErrorOf } from './errors.ts';
export { createGithubIdentity } from './github-identity.ts';
export { answerHttp } from './http/answer-http.ts';
export { answerPageUpload } from './http/answer-upload.ts';
export { type ApiDocument, type ApiOperation, type ApiParameter, apiDocument } from './http/document.ts';
export type { LiveSource, LiveSubscription } from './live-source.ts';
export { createOpenStreams, type OpenStreams } from './open-streams.ts';
export { type CallLimits, createRateLimit, defaultCallLimits, type RateLimit, retryHeaders } from './rate-limit.ts';
export { type AppRouter, apiRouter } from './router.ts';
export { createWebhooks, type WebhookParts, type Webhooks } from './webhook/answer-webhook.ts';
