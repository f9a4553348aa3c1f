// Records reported benchmark work.
// Invariant: it never trusts a number or an id that an agent sent.
import {
  BenchmarkProtocol,
  type BenchmarkRow,
  type BenchmarkStatus,
  BenchmarkTarget,
  NetworkPath,
  WorkState,
} from '@fairlead/contract/agent';
import { errorTable, isErrorCode } from '@fairlead/contract/errors';
import { encodeHistogram, histogramFromWire } from '@fairlead/contract/histogram';
import { newId } from '@fairlead/contract/ids';
import { AppError, clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';
import { liveReleaseNumber } from './facts.ts';
import { toRowView } from './rules.ts';
import {
  type BenchmarkOutcome,
  type BenchmarkState,
  benchmarkFactsSchema,
  type NetworkPathName,
  storedPlanSchema,
} from './schema.ts';
import { evaluateThresholds, outcomeOf } from './thresholds.ts';

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
const targets: Readonly<Partial<Record<BenchmarkTarget, string>>> = {
  [BenchmarkTarget.PROXY]: 'proxy',
  [BenchmarkTarget.DIRECT]: 'direct',
};
const protocols: Readonly<Partial<Record<BenchmarkProtocol, string>>> = {
  [BenchmarkProtocol.HTTP1]: 'http1',
  [BenchmarkProtocol.HTTP2]: 'http2',
  [BenchmarkProtocol.HTTP3]: 'http3',
};
const networkPaths: Readonly<Partial<Record<NetworkPath, NetworkPathName>>> = {
  [NetworkPath.SHARED_NETWORK]: 'shared-network',
  [NetworkPath.OWN_NETWORK]: 'own-network',
  [NetworkPath.UNIX_SOCKET]: 'unix-socket',
};

/** Moves runs of this server on. A row is stored once, by its position; statuses of finished or foreign runs are ignored. */
export async function recordBenchmarks(ctx: OrganizationCtx, input: BenchmarkReport): Promise<void> {
  if (input.statuses.length === 0) return;
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const runs = await tx.benchmarkRun.findMany({
    where: {
      organizationId,
      serverId: input.serverId,
      id: { in: input.statuses.map(({ runId }) => runId) },
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
      plan: true,
    },
    orderBy: { id: 'asc' },
  });
  for (const run of runs) {
    const status = input.statuses.find(({ runId }) => runId === run.id);
    const state = status === undefined ? undefined : states[status.state];
    if (status === undefined || state === undefined) continue;
    // The plan, not the agent, decides the number of rows.
    const rows = status.rows.filter(({ position }) => position < run.rowsTotal);
    const stored = await storeRows(ctx, run.id, rows);
    const finished = state !== 'running';
    const rowsDone = Math.min(status.rowsDone, run.rowsTotal);
    if (!finished && state === run.state && stored === 0 && rowsDone === run.rowsDone) continue;
    // A cancel may have come between the read and here: it stands.
    const { count } = await tx.benchmarkRun.updateMany({
      where: { id: run.id, organizationId, state: { in: ['queued', 'running'] } },
      data: {
        state,
        rowsDone,
        startedAt: run.startedAt ?? now,
        ...(finished ? { finishedAt: now, ...(await endFactsOf(ctx, { ...run, serverId: input.serverId })) } : {}),
        ...(state === 'failed' ? failureOf(status) : {}),
        ...(state === 'succeeded' ? { outcome: await outcomeOfRun(ctx, run) } : {}),
      },
    });
    if (count > 0 && finished) await bumpServer(ctx, input.serverId);
    await notifyChange(ctx, { kind: 'benchmark', id: run.id, appId: run.appId });
  }
}

interface EndedRun {
  readonly appId: string;
  readonly environmentId: string;
  readonly serverId: string;
  readonly facts: unknown;
}

async function endFactsOf(ctx: OrganizationCtx, { facts, appId, environmentId, serverId }: EndedRun) {
  if (facts === null) return {};
  const endReleaseNumber = await liveReleaseNumber(ctx, { appId, environmentId, serverId });
  return { facts: { ...benchmarkFactsSchema.parse(facts), endReleaseNumber } };
}

async function outcomeOfRun(
  { tx, organizationId }: OrganizationCtx,
  { id, plan }: { readonly id: string; readonly plan: unknown },
): Promise<BenchmarkOutcome> {
  const { thresholds } = storedPlanSchema.parse(plan);
  if (thresholds.length === 0) return 'none';
  const rows = await tx.benchmarkRow.findMany({ where: { runId: id, organizationId } });
  return outcomeOf('succeeded', evaluateThresholds(thresholds, rows.map(toRowView)));
}

async function storeRows(ctx: OrganizationCtx, runId: string, rows: readonly BenchmarkRow[]): Promise<number> {
  if (rows.length === 0) return 0;
  const { count } = await ctx.tx.benchmarkRow.createMany({
    data: rows.flatMap((row) => {
      const target = targets[row.target];
      const protocol = protocols[row.protocol];
      const latency = histogramFromWire(row.latency);
      if (latency === null) throw new AppError('link.malformed', { field: 'benchmarks.rows.latency' });
      if (target === undefined || protocol === undefined) return [];
      return [
        {
          id: newId('row'),
          organizationId: ctx.organizationId,
          runId,
          position: clampInt(row.position),
          round: clampInt(row.round),
          target,
          protocol,
          networkPath: networkPaths[row.networkPath] ?? null,
          concurrency: clampInt(row.concurrency),
          durationMs: clampInt(row.durationMs),
          requests: clampBig(row.requests),
          errors: clampBig(row.errors),
          latency: encodeHistogram(latency),
          proxyCpuUs: clampBig(row.proxyCpuUs),
          proxyMemoryBytes: clampBig(row.proxyMemoryBytes),
          bytesReceived: clampBig(row.bytesReceived),
        },
      ];
    }),
    skipDuplicates: true,
  });
  return count;
}

function failureOf(status: BenchmarkStatus): { failureCode: string; failureMessage: string } {
  const code = clipText(status.failure?.code ?? '', 100) || 'benchmark.failed';
  const own = isErrorCode(code) ? errorTable[code].message : errorTable['benchmark.failed'].message;
  return { failureCode: code, failureMessage: clipText(status.failure?.message ?? '', 2000) || own };
}

// Limits a number to the range of a column; an agent's numbers are unsigned and wider.
function clampInt(value: number): number {
  return Math.min(value, 2_147_483_647);
}

function clampBig(value: bigint): bigint {
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  return value < most ? value : most;
}
