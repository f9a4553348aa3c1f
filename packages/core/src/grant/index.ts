export { createGrant } from './create-grant.ts';
export { deleteGrant } from './delete-grant.ts';
export { listGrants } from './list-grants.ts';
export * from './schema.ts';
