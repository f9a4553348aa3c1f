// Reads and rewrites the rows of an app that moves to another project.
import { type EnvironmentId, parseId } from '@fairlead/contract/ids';
import { deploymentStateSchema, isFinished } from '../deployment/index.ts';
import { AppError, type OrganizationCtx, withDeletedApps } from '../kernel/index.ts';
import { listVolumeNames } from '../volume/index.ts';
import type { AppMove } from './schema.ts';

export interface LoadedMove extends AppMove {
  readonly appName: string;
  readonly projectId: string;
}

/** Throws app.not_found. */
export async function loadMove(ctx: OrganizationCtx, appId: string): Promise<LoadedMove> {
  const { tx, organizationId } = ctx;
  const app = await tx.app.findFirst({
    where: { id: appId, organizationId },
    select: {
      name: true,
      projectId: true,
      secretGroups: { select: { group: { select: { name: true } } }, orderBy: { group: { name: 'asc' } } },
    },
  });
  if (app === null) throw new AppError('app.not_found', { appId });
  return {
    appName: app.name,
    projectId: app.projectId,
    environments: await loadEnvironments(ctx, appId),
    secretGroups: app.secretGroups.map(({ group }) => group.name),
    volumes: await listVolumeNames(ctx, { appId }),
    sharedHosts: await withDeletedApps(ctx, () => loadSharedHosts(ctx, appId)),
    underWay: (await tx.deployment.count({ where: { appId, organizationId, state: { in: unfinished } } })) > 0,
  };
}

const unfinished = deploymentStateSchema.options.filter((state) => !isFinished(state));

/** Includes environments that the app has left, because its history, settings and secrets there move too. */
async function loadEnvironments(ctx: OrganizationCtx, appId: string): Promise<AppMove['environments']> {
  const { tx, organizationId } = ctx;
  const placed = { some: { appId } };
  const rows = await tx.environment.findMany({
    where: {
      organizationId,
      OR: [
        { placements: placed },
        { deployments: placed },
        { releases: placed },
        { secretSnapshots: placed },
        { benchmarkRuns: placed },
        { benchmarkPlans: placed },
      ],
    },
    select: {
      id: true,
      name: true,
      placements: { where: { appId, servers: { some: {} } }, select: { id: true }, take: 1 },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map(({ id, name, placements }) => ({
    environmentId: parseId('env', id),
    environmentName: name,
    runs: placements.length > 0,
  }));
}

/** Returns hosts that the app shares with other apps, which use other paths. All paths of a host share cookies. */
async function loadSharedHosts({ tx, organizationId }: OrganizationCtx, appId: string): Promise<string[]> {
  const own = await tx.domain.findMany({
    where: { appId, organizationId },
    distinct: ['host'],
    select: { host: true },
  });
  const shared = await tx.domain.findMany({
    where: { organizationId, host: { in: own.map(({ host }) => host) }, NOT: { appId } },
    distinct: ['host'],
    select: { host: true },
    orderBy: { host: 'asc' },
  });
  return shared.map(({ host }) => host);
}

/** Moves all rows of the app from one environment to another. Requires the lock of the app, and none of its rows there. */
export async function moveRows(
  { tx, organizationId }: OrganizationCtx,
  { appId, from, to }: { readonly appId: string; readonly from: EnvironmentId; readonly to: EnvironmentId },
): Promise<void> {
  const where = { appId, environmentId: from, organizationId };
  const data = { environmentId: to };
  // Servers identify instances by environment, so they report new ones.
  await tx.instance.deleteMany({ where });
  // Domains, settings and secrets follow their placement.
  await tx.placement.updateMany({ where, data });
  await tx.deployment.updateMany({ where, data });
  await tx.release.updateMany({ where, data });
  await tx.secretSnapshot.updateMany({ where, data });
  await tx.benchmarkRun.updateMany({ where, data });
  await tx.benchmarkPlan.updateMany({ where, data });
}
