// Resolves the scope of a call: the projects or environments of the rows that its input names.
// Invariant: it never returns the scope of a row of another organization. An unresolved input counts as the
// organization as a whole.
import type { ErrorCode } from '@fairlead/contract/errors';
import type {
  AppId,
  DeploymentId,
  DomainId,
  EnvironmentId,
  GrantId,
  ProjectId,
  ReleaseId,
  RunId,
  SecretGroupId,
  SecretId,
  ServerId,
} from '@fairlead/contract/ids';
import type { GrantScope } from '@fairlead/core/grant';
import { type OrganizationCtx, withDeletedApps } from '@fairlead/core/kernel';
import { listBuildingApps, type PlacementInput } from '@fairlead/core/placement';
import type { Permission, Scope } from '@fairlead/core/role';
import type { SecretOwner } from '@fairlead/core/secret';

export interface ScopeOf<Input> {
  /** Narrowest grant that opens the procedure. */
  readonly grain: 'project' | 'environment';
  /** Fields of the input that name the rows to check. */
  readonly reads: readonly string[];
  /**
   * Returns every scope that the input names; the permission is needed in each. None: the row does not exist, or it belongs to
   * the organization as a whole. `input` is what the procedure's own schema returns.
   */
  readonly find: (core: OrganizationCtx, input: Input, may?: May) => Promise<readonly Scope[]>;
}

/** Reports whether the person may do it there. */
type May = (scope: Scope) => boolean;

/** Permissions beyond the procedure's own. */
export interface AlsoNeeds<Input> {
  /** Text for docs/permissions.md. */
  readonly words: string;
  /** Permissions that the procedure's own permission never replaces. */
  readonly permissions: readonly Permission[];
  /** Errors that a person without one of `permissions` gets in place of `permission.denied`. */
  readonly denials?: readonly ErrorCode[];
  readonly reads: readonly string[];
  /** One permission of each `anyOf` is needed in its scope; without a scope, in the organization as a whole. */
  readonly find: (core: OrganizationCtx, input: Input) => Promise<readonly NeedElsewhere[]>;
}

export interface NeedElsewhere {
  readonly anyOf: readonly [Permission, ...Permission[]];
  readonly scope: Scope | null;
  /** Error that says why it is needed. Default: `permission.denied`. */
  readonly denied?: ErrorCode;
  /** Also requires a fresh session; an API token passes. */
  readonly fresh?: true;
}

/** Requires what each of them requires. */
export function allOf<Input>(...all: readonly AlsoNeeds<Input>[]): AlsoNeeds<Input> {
  return {
    words: all.map(({ words }) => words).join('; '),
    permissions: all.flatMap(({ permissions }) => permissions),
    denials: all.flatMap(({ denials }) => denials ?? []),
    reads: all.flatMap(({ reads }) => reads),
    find: async (core, input) => {
      const found: NeedElsewhere[] = [];
      for (const { find } of all) found.push(...(await find(core, input)));
      return found;
    },
  };
}

export function scopeOf<Input>(
  grain: ScopeOf<Input>['grain'],
  reads: readonly (keyof Input & string)[],
  find: (core: OrganizationCtx, input: Input, may: May) => Promise<Scope | readonly Scope[] | null>,
): ScopeOf<Input> {
  return {
    grain,
    reads,
    find: async (core, input, may = () => true) => [(await find(core, input, may)) ?? []].flat(),
  };
}

const inProject = { select: { projectId: true } } as const;
/** A placement without servers doesn't run, and no call reaches it. */
const runs = { servers: { some: {} } } as const;

/** The app as a whole: its project. */
export const byApp = scopeOf<Pick<PlacementInput, 'appId'>>('project', ['appId'], ({ tx, organizationId }, { appId }) =>
  tx.app
    .findFirst({ where: { organizationId, id: appId }, ...inProject })
    .then((app) => (app === null ? null : { projectId: app.projectId, environmentId: null })),
);

/** A deleted app: its project. */
export const byDeletedApp = scopeOf<Pick<PlacementInput, 'appId'>>('project', ['appId'], (core, { appId }) =>
  withDeletedApps(core, () => byApp.find(core, { appId })),
);

/** The app where it runs: the environment that deploys, domains and measurements of it go to. */
export const byPlacement = scopeOf<PlacementInput>('environment', ['appId', 'environmentId'], (core, input) =>
  findPlacement(core, { id: input.appId }, input.environmentId),
);

/** Returns the same; without an app, the organization as a whole. */
export const byAnyPlacement = scopeOf<{ readonly appId?: AppId | undefined } & Pick<PlacementInput, 'environmentId'>>(
  'environment',
  ['appId', 'environmentId'],
  async (core, { appId, environmentId }) =>
    appId === undefined ? null : findPlacement(core, { id: appId }, environmentId),
);

/** Returns the scope of an app's page: without an environment in the input, the oldest that the person may see. */
export const bySeenPlacement = scopeOf<{ readonly slug: string } & Pick<PlacementInput, 'environmentId'>>(
  'environment',
  ['slug', 'environmentId'],
  (core, { slug, environmentId }, may) =>
    environmentId === undefined ? findSeenPlacement(core, { slug }, may) : findPlacement(core, { slug }, environmentId),
);

export async function findSeenPlacement(
  { tx, organizationId }: OrganizationCtx,
  app: { readonly id: string } | { readonly slug: string },
  may: May,
): Promise<Scope | null> {
  const rows = await tx.placement.findMany({
    where: { organizationId, app, ...runs },
    select: { environmentId: true, environment: inProject },
    orderBy: [{ isPrimary: 'desc' }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  const seen = rows.find((row) => may({ projectId: row.environment.projectId, environmentId: row.environmentId }));
  return toScope(seen ?? rows[0] ?? null);
}

/** A release goes to `environmentId`. The person must be able to see the environment that it comes from, or to deploy to it. */
export const seesRelease: AlsoNeeds<{ readonly releaseId: ReleaseId }> = {
  words: '`deployment.read` or `deployment.write` where the release is',
  permissions: [],
  reads: ['releaseId'],
  find: async ({ tx, organizationId }, { releaseId }) => {
    const release = await tx.release.findFirst({
      where: { id: releaseId, organizationId },
      select: { environmentId: true, environment: inProject },
    });
    return [{ anyOf: ['deployment.read', 'deployment.write'], scope: toScope(release) }];
  },
};

/** A server reads the source of a new app as its first deployment would. */
export const readsNewSource: AlsoNeeds<Pick<PlacementInput, 'environmentId'>> = {
  words: '`deployment.write` where the app would go',
  permissions: ['deployment.write'],
  reads: ['environmentId'],
  find: async (core, { environmentId }) => {
    const scope = await findScopeOfNewApp(core, environmentId);
    return scope === null ? [] : [{ anyOf: ['deployment.write'], scope }];
  },
};

/** Returns the environment that createApp uses: the named one, or else the organization's oldest. */
export async function findScopeOfNewApp(
  { tx, organizationId }: OrganizationCtx,
  environmentId?: string,
): Promise<EnvironmentScope | null> {
  const row = await tx.environment.findFirst({
    where: { organizationId, ...(environmentId === undefined ? {} : { id: environmentId }) },
    select: { id: true, projectId: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return row === null ? null : { projectId: row.projectId, environmentId: row.id };
}

interface EnvironmentScope {
  readonly projectId: string;
  readonly environmentId: string;
}

/** Scope of a deployment's target; a redeploy or a retry has the same target. */
export const byDeploymentTarget = scopeOf<{ readonly deploymentId: DeploymentId }>(
  'environment',
  ['deploymentId'],
  async (core, { deploymentId }) => {
    const { tx, organizationId } = core;
    const row = await tx.deployment.findFirst({
      where: { id: deploymentId, organizationId },
      select: { appId: true, environmentId: true },
    });
    return row === null ? null : findPlacement(core, { id: row.appId }, row.environmentId);
  },
);

export const byDeployment = scopeOf<{ readonly deploymentId: DeploymentId }>(
  'environment',
  ['deploymentId'],
  async ({ tx, organizationId }, { deploymentId }) =>
    toScope(
      await tx.deployment.findFirst({
        where: { id: deploymentId, organizationId },
        select: { environmentId: true, environment: inProject },
      }),
    ),
);

export const byDomain = scopeOf<{ readonly domainId: DomainId }>(
  'environment',
  ['domainId'],
  async ({ tx, organizationId }, { domainId }) =>
    toScope(
      await tx.domain.findFirst({
        where: { id: domainId, organizationId },
        select: { environmentId: true, environment: inProject },
      }),
    ),
);

export const byRun = scopeOf<{ readonly runId: RunId }>(
  'environment',
  ['runId'],
  async ({ tx, organizationId }, { runId }) =>
    toScope(
      await tx.benchmarkRun.findFirst({
        where: { id: runId, organizationId },
        select: { environmentId: true, environment: inProject },
      }),
    ),
);

/** A secret of an app lies in its environment, one of a group in the group's project. Also one that was deleted. */
export const bySecret = scopeOf<{ readonly secretId: SecretId }>(
  'environment',
  ['secretId'],
  async ({ tx, organizationId }, { secretId }) => {
    const row = await tx.secret.findFirst({
      where: { id: secretId, organizationId },
      select: { environmentId: true, environment: inProject, group: inProject },
    });
    const projectId = row?.environment?.projectId ?? row?.group?.projectId;
    return row === null || projectId === undefined ? null : { projectId, environmentId: row.environmentId };
  },
);

/** Scope of secrets: an app in an environment, or a group. */
export const bySecretOwner = scopeOf<{ readonly owner: SecretOwner }>('environment', ['owner'], (core, { owner }) =>
  'groupId' in owner ? findGroup(core, owner) : findPlacement(core, { id: owner.appId }, owner.environmentId),
);

export const bySecretGroup = scopeOf<{ readonly groupId: SecretGroupId }>('project', ['groupId'], findGroup);

/** Returns the scopes of a group and of the app that gets it. A group belongs to one project, and the two may differ. */
export const bySecretGroupApp = scopeOf<{ readonly groupId: SecretGroupId; readonly appId: AppId }>(
  'project',
  ['groupId', 'appId'],
  async (core, input) => {
    const group = await findGroup(core, input);
    const [app] = await byApp.find(core, input);
    return group === null || app === undefined ? null : [group, app];
  },
);

/** A project that is named; without one it happens in the organization as a whole. */
export const byProject = scopeOf<{ readonly projectId?: ProjectId | undefined }>(
  'project',
  ['projectId'],
  async ({ tx, organizationId }, { projectId }) =>
    projectId === undefined || (await tx.project.count({ where: { id: projectId, organizationId } })) === 0
      ? null
      : { projectId, environmentId: null },
);

/** Returns the scopes of an app and of the project that it moves to. */
export const byAppAndProject = scopeOf<{ readonly appId: AppId; readonly projectId: ProjectId }>(
  'project',
  ['appId', 'projectId'],
  async (core, input) => {
    const [app] = await byApp.find(core, input);
    const [project] = await byProject.find(core, input);
    return app === undefined || project === undefined ? null : [app, project];
  },
);

/** A move removes an app from one project, and the other one runs it at once with its domains. */
export const runsMovedApp: AlsoNeeds<{ readonly appId: AppId; readonly projectId: ProjectId }> = {
  words: '`app.delete` in the old project; `app.write`, `deployment.write` and `domain.write` in the new one',
  permissions: ['app.delete', 'app.write', 'deployment.write', 'domain.write'],
  reads: ['appId', 'projectId'],
  find: async (core, input) => {
    const [from = null] = await byApp.find(core, input);
    const [to = null] = await byProject.find(core, input);
    return [
      { anyOf: ['app.delete'], scope: from },
      ...(['app.write', 'deployment.write', 'domain.write'] as const).map((permission) => ({
        anyOf: [permission] as const,
        scope: to,
      })),
    ];
  },
};

interface ServerInput {
  readonly serverId: ServerId;
}

/** A drain takes apps away from the server, and builds. */
export const drainsAppsOfServer = inEnvironmentsOfServer({
  permissions: ['app.write'],
  words: 'in each environment that has an app on the server or builds one there',
  find: async (core, input) => [...(await listAppsOnServer(core, input)), ...(await listBuildingApps(core, input))],
});

/** Moved apps are deployed on the other server. */
export const movesAppsOfServer = inEnvironmentsOfServer({
  permissions: ['app.write', 'deployment.write'],
  words: 'in each environment that has an app on the server',
  find: listAppsOnServer,
});

/** A removal with its data deletes volumes, also those that moved apps have left. */
export const deletesVolumesOfServer = inEnvironmentsOfServer<ServerInput & { readonly withData: boolean }>({
  permissions: ['app.delete'],
  words: 'in each environment that has a volume on the server, if volumes are deleted too',
  find: async (core, { serverId, withData }) => (withData ? listVolumesOnServer(core, { serverId }) : []),
});

/** Returns the environments of volumes whose data is on the server. */
export function listVolumesOnServer({ tx, organizationId }: OrganizationCtx, { serverId }: ServerInput) {
  return tx.$queryRaw<{ environmentId: string }[]>`
    SELECT DISTINCT environment_id AS "environmentId" FROM volume
    WHERE organization_id = ${organizationId} AND jsonb_exists(used_bytes, ${serverId})`;
}

function listAppsOnServer({ tx, organizationId }: OrganizationCtx, { serverId }: ServerInput) {
  return tx.placement.findMany({
    where: { organizationId, servers: { some: { serverId } } },
    select: { environmentId: true },
  });
}

function inEnvironmentsOfServer<Input extends ServerInput = ServerInput>({
  permissions,
  words,
  find,
}: {
  readonly permissions: readonly Permission[];
  readonly words: string;
  readonly find: (core: OrganizationCtx, input: Input) => Promise<readonly { readonly environmentId: string }[]>;
}): AlsoNeeds<Input> {
  return {
    words: `${permissions.map((each) => `\`${each}\``).join(' and ')} ${words}`,
    permissions,
    reads: ['serverId'],
    find: async (core, input) => {
      const { tx, organizationId } = core;
      const ids = (await find(core, input)).map(({ environmentId }) => environmentId);
      const rows = await tx.environment.findMany({
        where: { organizationId, id: { in: ids } },
        select: { id: true, projectId: true },
        orderBy: { id: 'asc' },
      });
      return rows.flatMap(({ id, projectId }) =>
        permissions.map((permission) => ({
          anyOf: [permission] as const,
          scope: { projectId, environmentId: id },
        })),
      );
    },
  };
}

export const byEnvironment = scopeOf<{ readonly environmentId: EnvironmentId }>(
  'environment',
  ['environmentId'],
  findEnvironment,
);

/** Scope of a new grant: a project or an environment in the input's `scope`. */
export const byGrantScope = scopeOf<{ readonly scope: GrantScope }>(
  'environment',
  ['scope'],
  async (core, { scope }) => {
    if (scope.kind === 'organization') return null;
    if (scope.kind === 'environment') return findEnvironment(core, scope);
    const { projectId } = scope;
    const { tx, organizationId } = core;
    const known = await tx.project.count({ where: { id: projectId, organizationId } });
    return known === 0 ? null : { projectId, environmentId: null };
  },
);

export const byGrant = scopeOf<{ readonly grantId: GrantId }>(
  'environment',
  ['grantId'],
  async ({ tx, organizationId }, { grantId }) => {
    const row = await tx.roleGrant.findFirst({
      where: { id: grantId, organizationId },
      select: { projectId: true, environmentId: true, environment: inProject },
    });
    if (row === null) return null;
    return { projectId: row.projectId ?? row.environment?.projectId ?? null, environmentId: row.environmentId };
  },
);

/** Finds the same placement as core's functions: without an environment, the primary one. */
export async function findPlacement(
  { tx, organizationId }: OrganizationCtx,
  app: { readonly id: string } | { readonly slug: string },
  environmentId?: string,
): Promise<Scope | null> {
  return toScope(
    await tx.placement.findFirst({
      where: {
        organizationId,
        app,
        ...runs,
        ...(environmentId === undefined ? { isPrimary: true } : { environmentId }),
      },
      select: { environmentId: true, environment: inProject },
    }),
  );
}

async function findGroup(
  { tx, organizationId }: OrganizationCtx,
  { groupId }: { readonly groupId: string },
): Promise<Scope | null> {
  const row = await tx.secretGroup.findFirst({ where: { id: groupId, organizationId }, ...inProject });
  return row === null ? null : { projectId: row.projectId, environmentId: null };
}

export async function findEnvironment(
  { tx, organizationId }: OrganizationCtx,
  { environmentId }: { readonly environmentId: string },
): Promise<Scope | null> {
  const row = await tx.environment.findFirst({ where: { id: environmentId, organizationId }, ...inProject });
  return row === null ? null : { projectId: row.projectId, environmentId };
}

function toScope(row: { environmentId: string; environment: { projectId: string } } | null): Scope | null {
  return row === null ? null : { projectId: row.environment.projectId, environmentId: row.environmentId };
}
