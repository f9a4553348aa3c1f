// The door to the first page.
export { getOverview } from './get-overview.ts';
export * from './schema.ts';
