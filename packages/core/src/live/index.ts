// The door to what may be watched.
export { requireTopics } from './require-topics.ts';
