// Resolves the scope of a call: the projects or environments of the rows that its input names.
// Invariant: it never returns the scope of a row of another organization. An unresolved input counts as the
// organization as a whole.
import type { ErrorCode } from '@fairlead/contract/errors';
import type {
  AppId,
  BenchmarkPlanId,
  DeliveryId,
  DeploymentId,
  DomainId,
  EnvironmentId,
  GrantId,
  PreviewId,
  ProjectId,
  ReleaseId,
  RunId,
  SecretGroupId,
  SecretId,
  ServerId,
} from '@fairlead/contract/ids';
import { listCertificateNames, listCoveredDomains } from '@fairlead/core/certificate';
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

interface SecretsOfPlacement extends PlacementInput {
  readonly secrets: readonly unknown[];
}

/** Secrets among the variables that a call sets. */
export const setsSecrets: AlsoNeeds<SecretsOfPlacement> = {
  words: '`secret.write` there to set secrets',
  permissions: ['secret.write'],
  reads: ['appId', 'environmentId'],
  find: async (core, { appId, environmentId, secrets }) =>
    secrets.length === 0
      ? []
      : [{ anyOf: ['secret.write'], scope: await findPlacement(core, { id: appId }, environmentId) }],
};

/** An app that has a secret can print it, so a copy needs the rights of a reveal where the value comes from. */
export const copiesVariables: AlsoNeeds<SecretsOfPlacement & { readonly fromEnvironmentId: EnvironmentId }> = {
  words:
    '`app.read` in the environment that it copies from; for secrets, `secret.reveal` and a fresh session there, and ' +
    '`secret.write` in the target',
  permissions: ['app.read', 'secret.reveal', 'secret.write'],
  reads: ['appId', 'fromEnvironmentId', 'environmentId'],
  find: async (core, { fromEnvironmentId, ...input }) => {
    const source = await findPlacement(core, { id: input.appId }, fromEnvironmentId);
    const reads: NeedElsewhere = { anyOf: ['app.read'], scope: source };
    if (input.secrets.length === 0) return [reads];
    const reveals: NeedElsewhere = { anyOf: ['secret.reveal'], scope: source, fresh: true };
    return [reads, reveals, ...(await setsSecrets.find(core, input))];
  },
};

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

/** Scope of a delivery's page: an environment that the push concerned, one that the person may see if there is any. */
export const byDelivery = scopeOf<{ readonly deliveryId: DeliveryId }>(
  'environment',
  ['deliveryId'],
  async ({ tx, organizationId }, { deliveryId }, may) => {
    const rows = await tx.pushDecision.findMany({
      where: { organizationId, deliveryId },
      select: { environmentId: true, placement: { select: { environment: inProject } } },
      orderBy: { id: 'asc' },
    });
    const scopes = rows.map(({ environmentId, placement }) => ({
      environmentId,
      projectId: placement.environment.projectId,
    }));
    const previews = await tx.previewDecision.findMany({
      where: { organizationId, deliveryId },
      select: { app: inProject },
      orderBy: { id: 'asc' },
    });
    const all = [...scopes, ...previews.map(({ app }) => ({ environmentId: null, projectId: app.projectId }))];
    return all.find(may) ?? all[0] ?? null;
  },
);

/** Previews are in the environment whose settings and secrets they use. */
export const byPreview = scopeOf<{ readonly previewId: PreviewId }>(
  'environment',
  ['previewId'],
  async ({ tx, organizationId }, { previewId }) => {
    const preview = await tx.preview.findFirst({
      where: { id: previewId, organizationId },
      select: { app: { select: { projectId: true, previewPolicy: { select: { environmentId: true } } } } },
    });
    if (preview === null) return null;
    const { projectId, previewPolicy } = preview.app;
    return { projectId, environmentId: previewPolicy?.environmentId ?? null };
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

/** TLS settings are of the whole host: the environments of all of its domains. */
export const byHost = scopeOf<{ readonly domainId: DomainId }>(
  'environment',
  ['domainId'],
  async ({ tx, organizationId }, { domainId }) => {
    const domain = await tx.domain.findFirst({ where: { id: domainId, organizationId }, select: { host: true } });
    if (domain === null) return null;
    const rows = await tx.domain.findMany({
      where: { organizationId, host: domain.host },
      distinct: ['environmentId'],
      select: { environmentId: true, environment: inProject },
    });
    return rows.flatMap((row) => toScope(row) ?? []);
  },
);

/** A certificate belongs to the environments of all domains that it covers; without one, to the organization as a whole. */
export const byCertificate = scopeOf<{ readonly certificateId: string }>(
  'environment',
  ['certificateId'],
  async (core, { certificateId }) => {
    const names = await listCertificateNames(core, certificateId);
    const hosts = (await listCoveredDomains(core, names)).map(({ host }) => host);
    const rows = await core.tx.domain.findMany({
      where: { organizationId: core.organizationId, host: { in: hosts } },
      distinct: ['environmentId'],
      select: { environmentId: true, environment: inProject },
    });
    return rows.flatMap((row) => toScope(row) ?? []);
  },
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

export const byBenchmarkPlan = scopeOf<{ readonly planId: BenchmarkPlanId }>(
  'environment',
  ['planId'],
  async ({ tx, organizationId }, { planId }) =>
    toScope(
      await tx.benchmarkPlan.findFirst({
        where: { id: planId, organizationId },
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
