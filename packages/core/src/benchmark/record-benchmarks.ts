// Records reported benchmark work.
// Invariant: it never trusts a number or an id that an agent sent.
import { isDeepStrictEqual } from 'node:util';
import { type BenchmarkStatus, WorkState } from '@fairlead/contract/agent';
import { errorTable, isErrorCode } from '@fairlead/contract/errors';
import { clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { endFactsOf, outcomeOfRun } from './end-run.ts';
import { enqueueEvents } from './enqueue-events.ts';
import { advanceQueues, lockRuns } from './queue.ts';
import { recordPart } from './record-part.ts';
import { type BenchmarkState, type StoredPlan, storedPlanSchema } from './schema.ts';
import { programsOf, storeRows } from './store-rows.ts';

export interface BenchmarkReport {
  readonly serverId: string;
  readonly statuses: readonly BenchmarkStatus[];
}

const states: Readonly<Partial<Record<WorkState, BenchmarkState>>> = {
  [WorkState.RUNNING]: 'running',
  [WorkState.SUCCEEDED]: 'succeeded',
  [WorkState.FAILED]: 'failed',
  [WorkState.CANCELLED]: 'cancelled',
};

/** Moves runs of this server on. A row is stored once, by its position; statuses of finished or foreign runs are ignored. */
export async function recordBenchmarks(ctx: OrganizationCtx, input: BenchmarkReport): Promise<void> {
  if (input.statuses.length === 0) return;
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  // Locks all runs first, because the end of one gives servers a new state.
  await lockRuns(ctx, { serverId: input.serverId });
  const runs = await tx.benchmarkRun.findMany({
    where: {
      organizationId,
      OR: [{ serverId: input.serverId }, { servers: { some: { serverId: input.serverId } } }],
      state: { in: ['queued', 'running'] },
    },
    select: {
      id: true,
      appId: true,
      environmentId: true,
      state: true,
      rowsDone: true,
      rowsTotal: true,
      startedAt: true,
      facts: true,
      programs: true,
      eventsDue: true,
      plan: true,
      _count: { select: { servers: true } },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  let isBusy = false;
  for (const run of runs) {
    const status = input.statuses.find(({ runId }) => runId === run.id);
    const state = status === undefined ? undefined : states[status.state];
    // An agent reports queued runs as running too, but runs one at a time, the oldest first.
    const isWaiting = isBusy && state === 'running';
    isBusy ||= state === undefined || state === 'running';
    if (status === undefined || state === undefined || isWaiting) continue;
    if (run._count.servers > 0) {
      await recordPart(ctx, { runId: run.id, serverId: input.serverId, status });
      continue;
    }
    // The plan limits the number of rows. Targets that can't be measured have none, and 0 is that of an agent that names none.
    const rowsTotal = status.rowsTotal === 0 ? run.rowsTotal : Math.min(status.rowsTotal, run.rowsTotal);
    const rows = status.rows.filter(({ position }) => position < rowsTotal);
    const stored = await storeRows(ctx, run.id, rows);
    const finished = state !== 'running';
    const rowsDone = Math.min(status.rowsDone, rowsTotal);
    const plan = storedPlanSchema.parse(run.plan);
    const programs = programsOf(status, plan);
    const eventsDue = Math.max(run.eventsDue, Math.min(status.eventsDue, eventsMax(plan)));
    const isNew = stored > 0 || rowsDone !== run.rowsDone || rowsTotal !== run.rowsTotal || eventsDue > run.eventsDue;
    if (!finished && state === run.state && !isNew && isDeepStrictEqual(programs, run.programs)) continue;
    // A cancel may have come between the read and here: it stands.
    const { count } = await tx.benchmarkRun.updateMany({
      where: { id: run.id, organizationId, state: { in: ['queued', 'running'] } },
      data: {
        state,
        rowsDone,
        rowsTotal,
        programs,
        eventsDue,
        startedAt: run.startedAt ?? now,
        ...(finished ? { finishedAt: now, ...(await endFactsOf(ctx, { ...run, serverId: input.serverId })) } : {}),
        ...(state === 'failed' ? failureOf(status) : {}),
        ...(state === 'succeeded' ? { outcome: await outcomeOfRun(ctx, run) } : {}),
      },
    });
    if (count > 0 && eventsDue > run.eventsDue) await enqueueEvents(ctx, run.id);
    if (count > 0 && finished) await advanceQueues(ctx, [input.serverId]);
    await notifyChange(ctx, { kind: 'benchmark', id: run.id, appId: run.appId });
  }
}

/**
 * Only this scenario has events of the control plane: an agent must not start deployments otherwise. A restarted agent
 * repeats the phase that it was in, with its event.
 */
function eventsMax({ scenario, repeats, concurrency, protocols }: StoredPlan): number {
  return scenario === 'deploy' ? 2 * repeats * concurrency.length * protocols.length : 0;
}

function failureOf(status: BenchmarkStatus): { failureCode: string; failureMessage: string } {
  const code = clipText(status.failure?.code ?? '', 100) || 'benchmark.failed';
  const own = isErrorCode(code) ? errorTable[code].message : errorTable['benchmark.failed'].message;
  return { failureCode: code, failureMessage: clipText(status.failure?.message ?? '', 2000) || own };
}
