// Owns where a call happens: which project or environment the row lies in that its input names. Must never answer the scope
// of a row of another organization, and never guess: what cannot be resolved happens in the organization as a whole.
import {
  appIdSchema,
  deploymentIdSchema,
  domainIdSchema,
  environmentIdSchema,
  grantIdSchema,
  projectIdSchema,
  releaseIdSchema,
  runIdSchema,
  secretGroupIdSchema,
  secretIdSchema,
} from '@fairlead/contract/ids';
import type { OrganizationCtx } from '@fairlead/core/kernel';
import { grantScopeSchema, type Scope } from '@fairlead/core/role';
import { secretOwnerSchema } from '@fairlead/core/secret';
import { z } from 'zod';

export interface ScopeOf {
  /** How narrow a grant may be that opens the procedure. */
  readonly grain: 'project' | 'environment';
  /** Null: no such row, or no such field. `input` is what came in, before the procedure's schema has seen it. */
  find(core: OrganizationCtx, input: unknown, may?: May): Promise<Scope | null>;
}

/** Whether who asks may do it there. */
type May = (scope: Scope) => boolean;

/**
 * The field must be spelled as the procedure's own schema has it, and neither may change it on its way: else the row that is
 * checked would not be the row that is used.
 */
function scopeOf<Input>(
  grain: ScopeOf['grain'],
  schema: z.ZodType<Input>,
  find: (core: OrganizationCtx, input: Input, may: May) => Promise<Scope | null>,
): ScopeOf {
  return {
    grain,
    find: async (core, input, may = () => true) => {
      const parsed = schema.safeParse(input);
      return parsed.success ? find(core, parsed.data, may) : null;
    },
  };
}

// Each refuses the other's key: what is judged here must be what the procedure reads, which takes one of them and drops
// whatever else was sent along.
const appRef = z.union([
  z.object({ appId: appIdSchema, slug: z.undefined().optional() }),
  z.object({ slug: z.string(), appId: z.undefined().optional() }),
]);
const placeRef = z.union([
  appRef.options[0].extend({ environmentId: environmentIdSchema.optional() }),
  appRef.options[1].extend({ environmentId: environmentIdSchema.optional() }),
]);
const inProject = { select: { projectId: true } } as const;

/** The app as a whole: its project. */
export const byApp = scopeOf('project', appRef, async ({ tx, organizationId }, input) => {
  const app = await tx.app.findFirst({ where: { organizationId, ...whereApp(input) }, ...inProject });
  return app === null ? null : { projectId: app.projectId, environmentId: null };
});

/** The app where it runs: the environment that deploys, domains and measurements of it go to. */
export const byPlacement = scopeOf('environment', placeRef, (core, input) =>
  findPlacement(core, whereApp(input), input.environmentId),
);

/** The same, but without an environment in the input it is the oldest where who asks may: what an app's page begins with. */
export const bySeenPlacement = scopeOf('environment', placeRef, async (core, input, may) => {
  if (input.environmentId !== undefined) return findPlacement(core, whereApp(input), input.environmentId);
  const { tx, organizationId } = core;
  const rows = await tx.placement.findMany({
    where: { organizationId, app: whereApp(input) },
    select: { environmentId: true, environment: inProject },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const seen = rows.find((row) => may({ projectId: row.environment.projectId, environmentId: row.environmentId }));
  return toScope(seen ?? rows[0] ?? null);
});

/** An environment that the app may not run in yet: that which is named, else where it was made. */
export const byEnvironmentOfApp = scopeOf(
  'environment',
  z.object({ appId: appIdSchema, environmentId: environmentIdSchema.optional() }),
  (core, { appId, environmentId }) =>
    environmentId === undefined ? findPlacement(core, { id: appId }) : findEnvironment(core, { environmentId }),
);

export const byRelease = scopeOf(
  'environment',
  z.object({ releaseId: releaseIdSchema }),
  async ({ tx, organizationId }, { releaseId }) =>
    toScope(
      await tx.release.findFirst({
        where: { id: releaseId, organizationId },
        select: { environmentId: true, environment: inProject },
      }),
    ),
);

/** Where a deployment went: a redeploy or another try goes there too. */
export const byDeploymentTarget = scopeOf(
  'environment',
  z.object({ deploymentId: deploymentIdSchema }),
  async (core, { deploymentId }) => {
    const { tx, organizationId } = core;
    const row = await tx.deployment.findFirst({
      where: { id: deploymentId, organizationId },
      select: { appId: true, environmentId: true },
    });
    return row === null ? null : findPlacement(core, { id: row.appId }, row.environmentId);
  },
);

export const byDeployment = scopeOf(
  'environment',
  z.object({ deploymentId: deploymentIdSchema }),
  async ({ tx, organizationId }, { deploymentId }) =>
    toScope(
      await tx.deployment.findFirst({
        where: { id: deploymentId, organizationId },
        select: { environmentId: true, environment: inProject },
      }),
    ),
);

export const byDomain = scopeOf(
  'environment',
  z.object({ domainId: domainIdSchema }),
  async ({ tx, organizationId }, { domainId }) =>
    toScope(
      await tx.domain.findFirst({
        where: { id: domainId, organizationId },
        select: { environmentId: true, environment: inProject },
      }),
    ),
);

export const byRun = scopeOf(
  'environment',
  z.object({ runId: runIdSchema }),
  async ({ tx, organizationId }, { runId }) =>
    toScope(
      await tx.benchmarkRun.findFirst({
        where: { id: runId, organizationId },
        select: { environmentId: true, environment: inProject },
      }),
    ),
);

/** A secret of an app lies in its environment, one of a group in the group's project. Also one that was deleted. */
export const bySecret = scopeOf(
  'environment',
  z.object({ secretId: secretIdSchema }),
  async ({ tx, organizationId }, { secretId }) => {
    const row = await tx.secret.findFirst({
      where: { id: secretId, organizationId },
      select: { environmentId: true, environment: inProject, group: inProject },
    });
    const projectId = row?.environment?.projectId ?? row?.group?.projectId;
    return row === null || projectId === undefined ? null : { projectId, environmentId: row.environmentId };
  },
);

/** Where secrets are written: an app's, in the environment where it runs, or a group's. */
export const bySecretOwner = scopeOf('environment', z.object({ owner: secretOwnerSchema }), (core, { owner }) =>
  'groupId' in owner ? findGroup(core, owner) : findPlacement(core, { id: owner.appId }, owner.environmentId),
);

export const bySecretGroup = scopeOf('project', z.object({ groupId: secretGroupIdSchema }), findGroup);

/** A project that is named; without one it happens in the organization as a whole. */
export const byProject = scopeOf(
  'project',
  z.object({ projectId: projectIdSchema }),
  async ({ tx, organizationId }, { projectId }) =>
    (await tx.project.count({ where: { id: projectId, organizationId } })) === 0
      ? null
      : { projectId, environmentId: null },
);

const environmentRef = z.object({ environmentId: environmentIdSchema });
export const byEnvironment = scopeOf('environment', environmentRef, findEnvironment);

/** What a new grant is for: a project or an environment of the input's `scope`. */
export const byGrantScope = scopeOf('environment', z.object({ scope: grantScopeSchema }), async (core, { scope }) => {
  if (scope.kind === 'organization') return null;
  if (scope.kind === 'environment') return findEnvironment(core, scope);
  const { projectId } = scope;
  const { tx, organizationId } = core;
  const known = await tx.project.count({ where: { id: projectId, organizationId } });
  return known === 0 ? null : { projectId, environmentId: null };
});

export const byGrant = scopeOf(
  'environment',
  z.object({ grantId: grantIdSchema }),
  async ({ tx, organizationId }, { grantId }) => {
    const row = await tx.roleGrant.findFirst({
      where: { id: grantId, organizationId },
      select: { projectId: true, environmentId: true, environment: inProject },
    });
    if (row === null) return null;
    return { projectId: row.projectId ?? row.environment?.projectId ?? null, environmentId: row.environmentId };
  },
);

function whereApp(input: z.infer<typeof appRef>) {
  return input.appId === undefined ? { slug: input.slug } : { id: input.appId };
}

/** The same placement that verbs take: the oldest. */
async function findPlacement(
  { tx, organizationId }: OrganizationCtx,
  app: { readonly id: string } | { readonly slug: string },
  environmentId?: string,
): Promise<Scope | null> {
  return toScope(
    await tx.placement.findFirst({
      where: { organizationId, app, ...(environmentId === undefined ? {} : { environmentId }) },
      select: { environmentId: true, environment: inProject },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
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

async function findEnvironment(
  { tx, organizationId }: OrganizationCtx,
  { environmentId }: z.infer<typeof environmentRef>,
): Promise<Scope | null> {
  const row = await tx.environment.findFirst({ where: { id: environmentId, organizationId }, ...inProject });
  return row === null ? null : { projectId: row.projectId, environmentId };
}

function toScope(row: { environmentId: string; environment: { projectId: string } } | null): Scope | null {
  return row === null ? null : { projectId: row.environment.projectId, environmentId: row.environmentId };
}
