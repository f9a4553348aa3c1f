// Permissions of the built-in roles. Pure: independent of people and requests.
import { type Rights, rightsOf, wholeOrganization } from './rights.ts';
import { ownerPermissions, type Permission, permissionSchema, type Role } from './schema.ts';

const reading: readonly Permission[] = [
  'app.read',
  'benchmark.read',
  'deployment.read',
  'domain.read',
  'log.read',
  'member.read',
  'metric.read',
  'role.read',
  'server.read',
];
// A developer makes and changes apps; production deployments are for a deployer.
const developing: readonly Permission[] = [
  ...reading,
  'app.write',
  'benchmark.write',
  'deployment.write',
  'domain.write',
  'secret.read',
  'secret.write',
  'token.read',
  'token.write',
];
const deploying: readonly Permission[] = [...developing, 'deployment.approve'];
const everything: readonly Permission[] = permissionSchema.options;
const ownersOnly: ReadonlySet<Permission> = new Set(ownerPermissions);

const granted: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  viewer: new Set(reading),
  developer: new Set(developing),
  deployer: new Set(deploying),
  admin: new Set(everything.filter((permission) => !ownersOnly.has(permission))),
  owner: new Set(everything),
};

export function can(role: Role, permission: Permission): boolean {
  return granted[role].has(permission);
}

export function permissionsOf(role: Role): Permission[] {
  return everything.filter((permission) => can(role, permission));
}

/** All that an owner may do; for work that tests and first starts do in an owner's name. */
export const ownerRights: Rights = rightsOf('owner', [{ ...wholeOrganization, permissions: permissionsOf('owner') }]);
