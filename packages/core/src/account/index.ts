// Schemas of a person's own account; packages/auth implements its actions.
export { pruneAccounts } from './prune-accounts.ts';
export * from './schema.ts';
