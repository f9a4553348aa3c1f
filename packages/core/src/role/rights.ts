// Owns what somebody may do and where. Pure: must never know how rights are stored or who asks.
import { permissionsOf } from './rules.ts';
import type { MemberRole, Permission } from './schema.ts';

/** Where something happens. Both null: in the organization as a whole. An environment always names its project too. */
export interface Scope {
  readonly projectId: string | null;
  readonly environmentId: string | null;
}

export const wholeOrganization: Scope = { projectId: null, environmentId: null };

/** All that somebody may do in one organization. */
export interface Rights {
  /** Beyond permissions: only an owner makes owners. */
  readonly isOwner: boolean;
  readonly organization: ReadonlySet<Permission>;
  /** By the id of a project. */
  readonly projects: ReadonlyMap<string, ReadonlySet<Permission>>;
  /** By the id of an environment. */
  readonly environments: ReadonlyMap<string, ReadonlySet<Permission>>;
}

/** A role that somebody holds, with the permissions that it stands for. */
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

/** What is allowed in the organization is allowed everywhere in it, and what is allowed in a project in its environments. */
export function may(rights: Rights, permission: Permission, scope: Scope = wholeOrganization): boolean {
  const { projectId, environmentId } = scope;
  return (
    rights.organization.has(permission) ||
    (projectId !== null && rights.projects.get(projectId)?.has(permission) === true) ||
    (environmentId !== null && rights.environments.get(environmentId)?.has(permission) === true)
  );
}

/** Whether there is any place where it is allowed: enough to look at what a call is about, never to do it. */
export function mayAnywhere(rights: Rights, permission: Permission): boolean {
  const within = [rights.organization, ...rights.projects.values(), ...rights.environments.values()];
  return within.some((permissions) => permissions.has(permission));
}

/** The same person with fewer rights, as a token of theirs has. Never an owner: that is nothing a permission stands for. */
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

/** All that an owner may do; for work that tests and first starts do in an owner's name. */
export const ownerRights: Rights = rightsOf('owner', [{ ...wholeOrganization, permissions: permissionsOf('owner') }]);

function entryOf(places: Map<string, Set<Permission>>, id: string): Set<Permission> {
  const known = places.get(id) ?? new Set<Permission>();
  places.set(id, known);
  return known;
}
