// Starts runs of plans that are due by their schedule. A slot that can't start is skipped, and the plan keeps the reason.
import { type BenchmarkPlanId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { benchmarkPlanSchema, createBenchmark } from '../benchmark/index.ts';
import { type Actor, AppError, type Ctx, type SystemCtx } from '../kernel/index.ts';
import { skipReason } from './load-servers.ts';
import { nextSlot } from './next-slot.ts';
import { requireSchedulable } from './schedulable.ts';

export interface DuePlan {
  readonly organizationId: OrganizationId;
  readonly planId: BenchmarkPlanId;
}

const batch = 100;
/** Longest delay of a slot: after an outage, a nightly load must not start in the morning. */
const lateMaxMs = 3_600_000;

/** Returns plans that are due, the oldest slot first. */
export async function findDuePlans({ tx, clock }: SystemCtx): Promise<DuePlan[]> {
  const rows = await tx.benchmarkSchedule.findMany({
    where: { pausedAt: null, nextAt: { lte: clock.now() }, plan: { app: { deletion: null } } },
    select: { planId: true, organizationId: true },
    orderBy: [{ nextAt: 'asc' }, { planId: 'asc' }],
    take: batch,
  });
  return rows.map((row) => ({
    organizationId: parseId('org', row.organizationId),
    planId: parseId('bpl', row.planId),
  }));
}

/** Handles one slot: starts the run or skips it. Does nothing if another worker or a change came first. */
export async function advanceSchedule(ctx: Ctx, { planId }: Pick<DuePlan, 'planId'>): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  // The order of locks is that of changes to a plan.
  await tx.$queryRaw`
    SELECT id FROM benchmark_plan WHERE id = ${planId} AND organization_id = ${organizationId} FOR NO KEY UPDATE`;
  const schedule = await tx.benchmarkSchedule.findFirst({
    where: { planId, organizationId, pausedAt: null, nextAt: { lte: now } },
    include: { plan: true },
  });
  if (schedule === null) return;
  const { nextAt, plan } = schedule;
  const outcome =
    now.getTime() - nextAt.getTime() > lateMaxMs
      ? { runId: null, skip: 'benchmark_plan.late' }
      : await start({ ...ctx, actor: actorOf(plan.name) }, plan);
  await tx.benchmarkSchedule.updateMany({
    where: { planId, organizationId },
    data: { lastAt: nextAt, lastRunId: outcome.runId, lastSkip: outcome.skip, nextAt: nextSlot(schedule, now) },
  });
  ctx.log.info({ planId, ...outcome }, 'handled a slot of a benchmark schedule');
}

const actorOf = (name: string): Actor => ({ kind: 'system', reason: `schedule of the benchmark plan ${name}` });

interface StoredPlan {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly plan: unknown;
  readonly loadServerIds: readonly string[];
}

/** A refusal of `createBenchmark` comes before its first write, so the transaction goes on. */
async function start(ctx: Ctx, { id, appId, environmentId, plan, loadServerIds }: StoredPlan) {
  const input = {
    appId: parseId('app', appId),
    environmentId: parseId('env', environmentId),
    planId: parseId('bpl', id),
    plan: benchmarkPlanSchema.parse(plan),
    loadServerIds: loadServerIds.map((serverId) => parseId('srv', serverId)),
  };
  try {
    // A repository may change the scenario of a plan that has a schedule.
    requireSchedulable(id, input.plan);
    const { runId } = await createBenchmark(ctx, input, 'schedule');
    return { runId, skip: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { runId: null, skip: skipReason(error, loadServerIds) };
  }
}
