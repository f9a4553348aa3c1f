// Protection of protected environments: deployments wait for another member's approval, and other changes to what visitors get
// need `deployment.approve` there. docs/permissions.md shows it for each mutation.
import type {
  AppId,
  DeploymentId,
  DomainId,
  EnvironmentId,
  ProjectId,
  SecretGroupId,
  SecretId,
  ServerId,
  VolumeId,
} from '@fairlead/contract/ids';
import { findProtected } from '@fairlead/core/deployment';
import { AppError, type OrganizationCtx, withDeletedApps } from '@fairlead/core/kernel';
import { listBuildingApps } from '@fairlead/core/placement';
import type { Permission, Scope } from '@fairlead/core/role';
import type { SecretOwner } from '@fairlead/core/secret';
import { listVolumesOnServer, type ScopeOf } from './scopes.ts';

export type Protection<Input = unknown> =
  /** Starts a deployment, which waits in a protected environment. */
  | { readonly kind: 'approval'; readonly words: string }
  /** Needs `deployment.approve` in the protected environments among those that `find` returns. */
  | {
      readonly kind: 'approver';
      readonly words: string;
      readonly find: (core: OrganizationCtx, input: Input) => Promise<readonly string[]>;
    }
  /** Changes nothing that visitors get; `words` gives the reason. */
  | { readonly kind: 'open'; readonly words: string };

/** Throws environment.protected. */
export async function requireApprover(
  core: OrganizationCtx,
  caller: { may(permission: Permission, scope?: Scope): boolean },
  environmentIds: readonly string[],
): Promise<void> {
  if (environmentIds.length === 0 || caller.may('deployment.approve')) return;
  for (const { id, projectId } of await findProtected(core, environmentIds)) {
    if (caller.may('deployment.approve', { projectId, environmentId: id })) continue;
    throw new AppError('environment.protected');
  }
}

export const waitsForApproval: Protection = { kind: 'approval', words: 'the deployment waits for approval' };

export function open(because: string): Protection {
  return { kind: 'open', words: because };
}

/** Rights have their own rule: a member can give only permissions that they hold. */
export const isRights = open('it gives no permission that its author lacks');
export const isOrganization = open('it reaches no app');

export function approver<Input>(
  words: string,
  find: (core: OrganizationCtx, input: Input) => Promise<readonly string[]>,
): Protection<Input> {
  return { kind: 'approver', words, find };
}

/** In the environment that `scope` finds. */
export function approverIn<Input>(scope: ScopeOf<Input>): Protection<Input> {
  return approver('in that environment', async (core, input) =>
    (await scope.find(core, input)).flatMap(({ environmentId }) => environmentId ?? []),
  );
}

export const approverOfApp = approver<{ readonly appId: AppId }>(
  'in each environment where the app runs',
  placementsOf,
);

export const approverOfDeletedApp = approver<{ readonly appId: AppId }>(
  'in each environment where the app ran',
  (core, input) => withDeletedApps(core, () => placementsOf(core, input)),
);

interface AppMove {
  readonly environments: readonly { readonly from: EnvironmentId; readonly to: EnvironmentId }[];
}

/** A move changes what visitors get in both projects, so both sides must approve it. */
export const approverOfMove = approver<AppMove>(
  'in each environment with data of the app, and in each that it moves to',
  // The verb requires that the input names all of them. Secrets of an environment that the app has left move too.
  async (_, { environments }) => environments.flatMap(({ from, to }) => [from, to]),
);

export const approverOfProject = approver<{ readonly projectId: ProjectId }>(
  'in each environment of the project',
  async ({ tx, organizationId }, { projectId }) =>
    (await tx.environment.findMany({ where: { organizationId, projectId }, select: { id: true } })).map(({ id }) => id),
);

interface AppChange {
  readonly appId: AppId;
  readonly environmentId?: EnvironmentId | undefined;
  readonly [setting: string]: unknown;
}

/** Only members see a name, and a branch counts in one environment. */
export const approverOfAppChange = approver<AppChange>(
  'in each environment that the change reaches',
  async (core, { appId, environmentId, name: _name, branch, ...settings }) => {
    const placements = await placementsOf(core, { appId });
    if (Object.values(settings).some((value) => value !== undefined)) return placements;
    if (branch === undefined) return [];
    return placements.filter((each, at) => (environmentId === undefined ? at === 0 : each === environmentId));
  },
);

interface NewRoute {
  readonly appId: AppId;
  readonly environmentId?: EnvironmentId | undefined;
  readonly host: string;
}

const eachOfHost = 'in each environment where the host leads to';

export const approverOfNewRoute = approver<NewRoute>(eachOfHost, async (core, { appId, environmentId, host }) => {
  const placements = await placementsOf(core, { appId });
  const [placement] = environmentId === undefined ? placements : placements.filter((each) => each === environmentId);
  return placement === undefined ? [] : [placement, ...(await environmentsOfHost(core, host))];
});

/** All paths of a host share its cookies and its name, so they are protected together. */
export const approverOfHost = approver<{ readonly domainId: DomainId }>(eachOfHost, async (core, { domainId }) => {
  const { tx, organizationId } = core;
  const domain = await tx.domain.findFirst({ where: { id: domainId, organizationId }, select: { host: true } });
  return domain === null ? [] : environmentsOfHost(core, domain.host);
});

/** An uploaded certificate serves every host that it covers. */
export const approverOfDomains = approver<unknown>('in each environment that has a domain', ({ tx, organizationId }) =>
  tx.domain.findMany({ where: { organizationId } }).then(environmentsOf),
);

/** The author may cancel a deployment that still waits for approval; an approved one may be live already. */
export const approverOfRunning = approver<{ readonly deploymentId: DeploymentId }>(
  'in that environment, once it was approved',
  async ({ tx, organizationId }, { deploymentId }) => {
    const row = await tx.deployment.findFirst({
      where: { id: deploymentId, organizationId, approval: { isNot: { state: 'pending' } } },
      select: { environmentId: true },
    });
    return row === null ? [] : [row.environmentId];
  },
);

export const approverOfServer = approver<{ readonly serverId: ServerId }>(
  'in each environment that has an app on the server',
  (core, { serverId }) => environmentsOnServers(core, { serverId }),
);

/** Apps that a server builds go to another one while it is drained. */
export const approverOfDrain = approver<{ readonly serverId: ServerId }>(
  'in each environment that has an app on the server or builds one there',
  async (core, { serverId }) => [
    ...(await environmentsOnServers(core, { serverId })),
    ...(await withDeletedApps(core, async () => environmentsOf(await listBuildingApps(core, { serverId })))),
  ],
);

/** With its data, a removed server loses volumes, also those that moved apps have left. */
export const approverOfUninstall = approver<{ readonly serverId: ServerId; readonly withData: boolean }>(
  'in each environment that has an app on the server, or a volume that is deleted',
  async (core, { serverId, withData }) => [
    ...(await environmentsOnServers(core, { serverId })),
    ...(withData
      ? await withDeletedApps(core, async () => environmentsOf(await listVolumesOnServer(core, { serverId })))
      : []),
  ],
);

/** Programs of agents serve every app of their servers. */
export const approverOfServers = approver<unknown>('in each environment that has an app on a server', (core) =>
  environmentsOnServers(core, {}),
);

export const approverOfVolume = approver<{ readonly volumeId: VolumeId }>(
  'in that environment',
  ({ tx, organizationId }, { volumeId }) =>
    tx.volume.findMany({ where: { id: volumeId, organizationId } }).then(environmentsOf),
);

const eachWithGroup = 'in that environment; of a shared group, in each where an app has it';

export const approverOfSecretOwner = approver<{ readonly owner: SecretOwner }>(
  eachWithGroup,
  async (core, { owner }) =>
    'groupId' in owner
      ? environmentsOfGroup(core, owner)
      : (await placementsOf(core, owner)).filter((each, at) =>
          owner.environmentId === undefined ? at === 0 : each === owner.environmentId,
        ),
);

export const approverOfSecret = approver<{ readonly secretId: SecretId }>(eachWithGroup, async (core, { secretId }) => {
  const { tx, organizationId } = core;
  const row = await tx.secret.findFirst({
    where: { id: secretId, organizationId },
    select: { environmentId: true, groupId: true },
  });
  if (row?.groupId != null) return environmentsOfGroup(core, { groupId: row.groupId });
  return row?.environmentId == null ? [] : [row.environmentId];
});

export const approverOfGroup = approver<{ readonly groupId: SecretGroupId }>(
  'in each environment where an app has the group',
  environmentsOfGroup,
);

/** Returns the environments of an app, the primary one first. */
async function placementsOf(
  { tx, organizationId }: OrganizationCtx,
  { appId }: { readonly appId: AppId },
): Promise<string[]> {
  const where = { organizationId, appId, servers: { some: {} } };
  return environmentsOf(await tx.placement.findMany({ where, orderBy: { isPrimary: 'desc' } }));
}

// A deleted app can come back, so what it keeps is protected as before: hosts, groups and servers.

export function environmentsOfHost(core: OrganizationCtx, host: string): Promise<string[]> {
  const { tx, organizationId } = core;
  return withDeletedApps(core, async () =>
    environmentsOf(await tx.domain.findMany({ where: { organizationId, host } })),
  );
}

function environmentsOfGroup(core: OrganizationCtx, { groupId }: { readonly groupId: string }): Promise<string[]> {
  const where = { app: { secretGroups: { some: { groupId } } }, servers: { some: {} } };
  return environmentsOfPlacements(core, where);
}

export function environmentsOnServers(
  core: OrganizationCtx,
  server: { readonly serverId?: string },
): Promise<string[]> {
  return environmentsOfPlacements(core, { servers: { some: server } });
}

function environmentsOfPlacements(core: OrganizationCtx, where: object): Promise<string[]> {
  const { tx, organizationId } = core;
  return withDeletedApps(core, async () =>
    environmentsOf(await tx.placement.findMany({ where: { ...where, organizationId } })),
  );
}

function environmentsOf(rows: readonly { readonly environmentId: string }[]): string[] {
  return [...new Set(rows.map(({ environmentId }) => environmentId))];
}
