// Deletes the environment of a preview that ended, with everything in it. Logs are outside of the database: the caller deletes
// their objects after the commit.
import { recordAudit } from '../audit/index.ts';
import { endBenchmarks } from '../benchmark/index.ts';
import { stopDeployments } from '../deployment/index.ts';
import { touchComment } from '../github/index.ts';
import { type Ctx, notifyChange, withDeletedApps } from '../kernel/index.ts';
import { listEnvironmentLogs } from '../log/index.ts';
import { bumpServer } from '../server/index.ts';
import { lastingStates } from './decide-preview.ts';
import { lockPreview } from './store.ts';

/** Returns the objects of its logs; null if the preview has no environment, or became active again meanwhile. */
export async function deletePreviewEnvironment(
  ctx: Ctx,
  { previewId }: { readonly previewId: string },
): Promise<readonly string[] | null> {
  const { tx, organizationId } = ctx;
  const row = await lockPreview(ctx, previewId);
  if (row === null || row.environmentId === null || lastingStates.includes(row.state)) return null;
  const { appId, environmentId, number, state } = row;
  const building = await stopDeployments(ctx, { appId, environmentId });
  await endBenchmarks(ctx, { appId, environmentId });
  const objectKeys = await listEnvironmentLogs(ctx, { environmentId });
  const where = { environmentId, organizationId };
  const reports = await tx.githubReport.findMany({
    where: { organizationId, deployment: where, githubDeploymentId: { not: null } },
    select: { githubDeploymentId: true },
  });
  const placed = await tx.placementServer.findMany({
    where: { organizationId, placement: { environmentId } },
    select: { serverId: true },
  });
  const hosts = await tx.domain.findMany({ where, select: { host: true } });
  await tx.preview.updateMany({
    where: { id: row.id, organizationId },
    data: { environmentId: null, deployedHash: null },
  });
  // Rows that refer to others without a cascade go first: placements and deployments refer to releases.
  await tx.placementServer.deleteMany({ where: { organizationId, placement: { environmentId } } });
  await tx.deployment.deleteMany({ where });
  await tx.environment.deleteMany({ where: { id: environmentId, organizationId } });
  await deleteTlsSettings(ctx, hosts);
  await bumpAll(ctx, [...building, ...placed.map(({ serverId }) => serverId)]);
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { name: true } });
  await recordAudit(ctx, {
    action: 'preview.delete',
    target: { kind: 'app', id: appId, label: app.name },
    before: { previewId, number, environmentId },
    after: { state },
  });
  await touchComment(
    ctx,
    row.id,
    reports.flatMap(({ githubDeploymentId }) => githubDeploymentId ?? []),
  );
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return objectKeys;
}

/** Keeps the settings of a host that has another path left: they guard that path too. */
async function deleteTlsSettings({ tx, organizationId }: Ctx, domains: readonly { host: string }[]): Promise<void> {
  const hosts = domains.map(({ host }) => host);
  // A deleted app keeps its domains, so that it can be restored.
  const left = await withDeletedApps({ tx }, () =>
    tx.domain.findMany({ where: { organizationId, host: { in: hosts } }, select: { host: true } }),
  );
  const used = new Set(left.map(({ host }) => host));
  await tx.hostPolicy.deleteMany({ where: { organizationId, host: { in: hosts.filter((host) => !used.has(host)) } } });
}

/** Locks servers by id, as every transaction does. Skips a server that was removed after it built. */
async function bumpAll(ctx: Ctx, serverIds: readonly string[]): Promise<void> {
  const known = await ctx.tx.server.findMany({
    where: { id: { in: [...new Set(serverIds)] }, organizationId: ctx.organizationId },
    select: { id: true },
    orderBy: { id: 'asc' },
  });
  for (const { id } of known) await bumpServer(ctx, id);
}
