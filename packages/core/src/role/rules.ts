// Owns who may do what. Must never know about people or requests: it sees a role and a permission.
import { type Permission, permissionSchema, type Role } from './schema.ts';

const reading: readonly Permission[] = [
  'app.read',
  'deployment.read',
  'domain.read',
  'server.read',
  'metric.read',
  'benchmark.read',
  'member.read',
];
const developing: readonly Permission[] = [
  ...reading,
  'app.write',
  'deployment.write',
  'domain.write',
  'benchmark.write',
];
const everything: readonly Permission[] = permissionSchema.options;

const granted: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  viewer: new Set(reading),
  developer: new Set(developing),
  admin: new Set(everything),
  owner: new Set(everything),
};

export function can(role: Role, permission: Permission): boolean {
  return granted[role].has(permission);
}

export function permissionsOf(role: Role): Permission[] {
  return everything.filter((permission) => can(role, permission));
}
