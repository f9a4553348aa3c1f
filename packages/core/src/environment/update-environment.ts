// Updates an environment's protection by approvals.
import { recordAudit } from '../audit/index.ts';
import { findProtected, requestApprovals } from '../deployment/index.ts';
import { AppError, type Ctx, withDeletedApps } from '../kernel/index.ts';
import type { EnvironmentRef, UpdateEnvironmentInput } from './schema.ts';

/**
 * Protection takes effect at once, also for queued deployments. When it is switched off, deployments that await
 * approval keep waiting: none skips a review that was requested. Throws environment.hosts_shared.
 */
export async function updateEnvironment(ctx: Ctx, input: UpdateEnvironmentInput): Promise<EnvironmentRef> {
  const { organizationId } = ctx;
  const { environmentId } = input;
  // The start of a deployment takes the same lock, so that none runs in between.
  const [row] = await ctx.tx.$queryRaw<{ name: string; protected: boolean }[]>`
    SELECT name, protected FROM environment
    WHERE id = ${environmentId} AND organization_id = ${organizationId} FOR NO KEY UPDATE`;
  if (row === undefined) throw new AppError('environment.not_found', { environmentId });
  if (row.protected === input.protected) return { environmentId };
  await withDeletedApps(ctx, () => requireHostsAlone(ctx, input));
  await ctx.tx.environment.updateMany({
    where: { id: environmentId, organizationId },
    data: { protected: input.protected },
  });
  if (input.protected) {
    await requestApprovals(ctx, { environmentId });
    // A deleted app can be restored, so its schedules are paused too.
    await withDeletedApps(ctx, () => pauseSchedules(ctx, { environmentId }));
  }
  await recordAudit(ctx, {
    action: 'environment.update',
    target: { kind: 'environment', id: environmentId, label: row.name },
    before: { protected: row.protected },
    after: { protected: input.protected },
  });
  return { environmentId };
}

/**
 * Pauses the schedules of the environment, and of plans with a load server that runs one of its apps. They were set without
 * approval, so an approver has to resume them.
 */
async function pauseSchedules(ctx: Ctx, { environmentId }: EnvironmentRef): Promise<void> {
  const { tx, organizationId } = ctx;
  const placed = await tx.placementServer.findMany({
    where: { organizationId, placement: { environmentId } },
    select: { serverId: true },
  });
  const loadServerIds = { hasSome: placed.map(({ serverId }) => serverId) };
  const paused = await tx.benchmarkSchedule.updateManyAndReturn({
    where: { organizationId, pausedAt: null, plan: { OR: [{ environmentId }, { loadServerIds }] } },
    data: { pausedAt: ctx.clock.now() },
    select: { planId: true },
  });
  const plans = await tx.benchmarkPlan.findMany({
    where: { organizationId, id: { in: paused.map(({ planId }) => planId) } },
    select: { id: true, name: true, app: { select: { name: true } } },
    orderBy: { id: 'asc' },
  });
  for (const { id, name, app } of plans) {
    await recordAudit(ctx, {
      action: 'benchmark.pause_schedule',
      target: { kind: 'benchmark_plan', id, label: name },
      before: { paused: false },
      after: { appName: app.name, paused: true },
    });
  }
}

/** A host never leads to both a protected and an unprotected environment; createRoute keeps the same rule. */
async function requireHostsAlone(
  ctx: Ctx,
  { environmentId, protected: protects }: UpdateEnvironmentInput,
): Promise<void> {
  const { tx, organizationId } = ctx;
  const own = await tx.domain.findMany({
    where: { environmentId, organizationId },
    distinct: ['host'],
    select: { host: true },
  });
  const shared = await tx.domain.findMany({
    where: { organizationId, host: { in: own.map(({ host }) => host) }, NOT: { environmentId } },
    select: { host: true, environmentId: true },
    orderBy: { host: 'asc' },
  });
  const others = await findProtected(
    ctx,
    shared.map((domain) => domain.environmentId),
  );
  const isProtected = new Set(others.map(({ id }) => id));
  const hosts = shared.filter((domain) => isProtected.has(domain.environmentId) !== protects).map(({ host }) => host);
  if (hosts.length > 0) throw new AppError('environment.hosts_shared', { environmentId, hosts: [...new Set(hosts)] });
}
