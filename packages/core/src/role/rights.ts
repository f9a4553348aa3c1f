// Rights of a member: permissions with their scope. Pure, and without zod, because browsers load it on every page.
import type { MemberRole, Permission } from './schema.ts';

/** Scope of an action. Both null: the organization as a whole. An environment always names its project too. */
export interface Scope {
  readonly projectId: string | null;
  readonly environmentId: string | null;
}

export const wholeOrganization: Scope = { projectId: null, environmentId: null };

/** All rights of a person in one organization. */
export interface Rights {
  /** Beyond permissions: only an owner makes owners. */
  readonly isOwner: boolean;
  readonly organization: ReadonlySet<Permission>;
  /** Permissions for each project id. */
  readonly projects: ReadonlyMap<string, ReadonlySet<Permission>>;
  /** Permissions for each environment id. */
  readonly environments: ReadonlyMap<string, ReadonlySet<Permission>>;
}

/** A role that a member holds, with its permissions. */
export interface HeldRole extends Scope {
  readonly permissions: readonly Permission[];
}

export function rightsOf(role: MemberRole, held: readonly HeldRole[]): Rights {
  const organization = new Set<Permission>();
  const projects = new Map<string, Set<Permission>>();
  const environments = new Map<string, Set<Permission>>();
  for (const { projectId, environmentId, permissions } of held) {
    const into =
      environmentId !== null
        ? entryOf(environments, environmentId)
        : projectId !== null
          ? entryOf(projects, projectId)
          : organization;
    for (const permission of permissions) into.add(permission);
  }
  return { isOwner: role === 'owner', organization, projects, environments };
}

/**
 * True if the permission is held in the scope. The organization includes its projects, and a project its environments.
 */
export function may(rights: Rights, permission: Permission, scope: Scope = wholeOrganization): boolean {
  const { projectId, environmentId } = scope;
  return (
    rights.organization.has(permission) ||
    (projectId !== null && rights.projects.get(projectId)?.has(permission) === true) ||
    (environmentId !== null && rights.environments.get(environmentId)?.has(permission) === true)
  );
}

/** True if the permission is held in any scope: enough to look up the subject of a call, never to perform it. */
export function mayAnywhere(rights: Rights, permission: Permission): boolean {
  const within = [rights.organization, ...rights.projects.values(), ...rights.environments.values()];
  return within.some((permissions) => permissions.has(permission));
}

/**
 * Returns a person's rights limited to these permissions, as for a token. Never an owner: no permission includes that.
 */
export function limitRights(rights: Rights, to: ReadonlySet<Permission>): Rights {
  const limited = (permissions: ReadonlySet<Permission>) => new Set([...permissions].filter((each) => to.has(each)));
  const each = (places: ReadonlyMap<string, ReadonlySet<Permission>>) =>
    new Map([...places].map(([id, permissions]) => [id, limited(permissions)] as const));
  return {
    isOwner: false,
    organization: limited(rights.organization),
    projects: each(rights.projects),
    environments: each(rights.environments),
  };
}

function entryOf(places: Map<string, Set<Permission>>, id: string): Set<Permission> {
  const known = places.get(id) ?? new Set<Permission>();
  places.set(id, known);
  return known;
}
