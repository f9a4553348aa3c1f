// The door to organizations.
export { listMemberships } from './list-memberships.ts';
export * from './schema.ts';
