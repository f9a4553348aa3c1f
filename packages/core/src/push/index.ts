export { createWebhook, deleteWebhook, listWebhooks, rotateWebhook } from './app-webhook.ts';
export { type DeliveryBudget, type DeliveryLimits, deliveryLimits, loadDeliveryBudget } from './delivery-budget.ts';
export { checkedCommitOf, readEvent } from './delivery-events.ts';
export { findEndpoint, type WebhookEndpoint } from './find-endpoint.ts';
export { findPathFilter } from './find-path-filter.ts';
export { type AppSource, findAppSource } from './find-source.ts';
export { getDelivery } from './get-delivery.ts';
export { listDeliveries } from './list-deliveries.ts';
export { isUnreadable } from './parse-push.ts';
export { processDelivery } from './process-delivery.ts';
export { pruneDeliveries } from './prune-deliveries.ts';
export { getPushRules, updatePushRules } from './push-rules.ts';
export { type NewDelivery, type RecordedDelivery, recordDeliveries } from './record-deliveries.ts';
export { recordDeliveryFailure } from './record-delivery-failure.ts';
export {
  claimDeliveryLogs,
  type DeliveryLog,
  type DueApp,
  deferDeliveryLog,
  recoverDeliveries,
} from './recover-deliveries.ts';
export { retryPush } from './retry-push.ts';
export * from './schema.ts';
export { findNextDelivery, lockDelivery, tryProcessing, writeDecision } from './store.ts';
export { sweepDeliveries } from './sweep-deliveries.ts';
export { manifestPathsOf, suggestWatchPaths } from './workspace-paths.ts';
