export { createServiceAccount } from './create-service-account.ts';
export { createServiceToken } from './create-service-token.ts';
export { deleteServiceAccount } from './delete-service-account.ts';
export { listServiceAccounts } from './list-service-accounts.ts';
export { revokeServiceToken } from './revoke-service-token.ts';
export * from './schema.ts';
export { updateServiceAccount } from './update-service-account.ts';
