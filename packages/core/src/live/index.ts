export { requireTopics } from './require-topics.ts';
