export { findAvailableUpdate, getUpdate, type UpdateFacts } from './get-update.ts';
export { checkFeed, type FeedCheck, type ReadFeedFile } from './read-feed.ts';
export { isUpdateCheckDue, recordUpdateCheck } from './record-update-check.ts';
export * from './schema.ts';
export { writeUpdateRequest } from './updater.ts';
