// Owns the names of roles and permissions as they cross the API. Must never decide who may do what: rules.ts does.
import { z } from 'zod';

export const roleSchema = z.enum(['owner', 'admin', 'deployer', 'developer', 'viewer', 'billing']);
export type Role = z.infer<typeof roleSchema>;

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
