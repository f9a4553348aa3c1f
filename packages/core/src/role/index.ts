export { createRole } from './create-role.ts';
export { deleteRole } from './delete-role.ts';
export { listRoles } from './list-roles.ts';
export { knownPermissions, listRights, loadRights, loadRoleRights, type Membership } from './load-rights.ts';
export { isReached, type Reach, reachOf, reachWithin, whereReached, wholeReach } from './reach.ts';
export { mayStillAssign, revokeStaleInvitations } from './revoke-stale-invitations.ts';
export {
  limitRights,
  may,
  mayAnywhere,
  type Rights,
  rightsOf,
  type Scope,
  wholeOrganization,
} from './rights.ts';
export { permissionsOfRole, requireAnotherOwner, requireMayAssign, requireMayRemove } from './role-assignment.ts';
export { can, ownerRights, permissionsOf } from './rules.ts';
export * from './schema.ts';
export { updateRole } from './update-role.ts';
