// Owns the names of roles and permissions as they cross the API. Must never decide who may do what: rules.ts does.
import { customRoleIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';

/** The roles that every organization has. */
export const roleSchema = z.enum(['owner', 'admin', 'deployer', 'developer', 'viewer', 'billing']);
export type Role = z.infer<typeof roleSchema>;

/** What a member or a grant holds: a built-in role, or the id of a custom role of the organization. */
export const memberRoleSchema = z.union([roleSchema, customRoleIdSchema]);
export type MemberRole = z.infer<typeof memberRoleSchema>;

export const permissionSchema = z.enum([
  'app.read',
  'app.write',
  'app.delete',
  'audit.read',
  'benchmark.read',
  'benchmark.write',
  'billing.read',
  'deployment.approve',
  'deployment.read',
  'deployment.write',
  'domain.read',
  'domain.write',
  'environment.write',
  'member.invite',
  'member.read',
  'member.write',
  'metric.read',
  'organization.delete',
  'organization.transfer',
  'organization.write',
  'role.read',
  'role.write',
  'secret.read',
  'secret.reveal',
  'secret.write',
  'server.delete',
  'server.enrol',
  'server.read',
  'token.read',
  'token.write',
]);
export type Permission = z.infer<typeof permissionSchema>;
