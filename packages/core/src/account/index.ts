// The door to the shapes of a person's own account. What is done with it is identity's.
export { pruneAccounts } from './prune-accounts.ts';
export * from './schema.ts';
