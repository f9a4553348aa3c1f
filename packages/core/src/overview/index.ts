export { getOverview } from './get-overview.ts';
export * from './schema.ts';
