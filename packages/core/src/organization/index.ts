export { createOrganization } from './create-organization.ts';
export { deleteOrganization, restoreOrganization } from './delete-organization.ts';
export { claimEndingOrganizations, emptyOrganization, endOrganization } from './end-organization.ts';
export { insertOrganization } from './insert-organization.ts';
export { listMemberships } from './list-memberships.ts';
export { deletionDelayMs, emptyingMs, ownedMax } from './rules.ts';
export * from './schema.ts';
export { updateOrganization } from './update-organization.ts';
