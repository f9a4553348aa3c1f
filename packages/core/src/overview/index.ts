export type { ChecklistRights } from './get-checklist.ts';
export { getOverview, type OverviewOptions } from './get-overview.ts';
export * from './schema.ts';
