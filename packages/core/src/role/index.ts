// The door to roles and permissions.
export { can, permissionsOf } from './rules.ts';
export {
  type MemberRole,
  memberRoleSchema,
  type Permission,
  permissionSchema,
  type Role,
  roleSchema,
} from './schema.ts';
