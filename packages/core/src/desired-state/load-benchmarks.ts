// Loads the benchmark runs of a server. A distributed run waits until it is the first in the queue of each.
import { BenchmarkRole } from '@fairlead/contract/agent';
import { benchmarkFactsSchema, type StoredPlan, storedPlanSchema } from '../benchmark/schema.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { shareOf } from './load-share.ts';
import type { BenchmarkPartRow, BenchmarkPlanRow } from './to-desired-state.ts';

const ADDRESSES_MAX = 32;

interface DistributedRun {
  readonly id: string;
  readonly serverId: string | null;
  readonly state: string;
  readonly createdAt: Date;
  readonly loadRow: number;
  readonly loadStartAt: Date | null;
  readonly loadPort: number | null;
  readonly servers: readonly {
    readonly serverId: string;
    readonly role: string;
    readonly clockOffsetUs: bigint | null;
  }[];
}

/** Returns the oldest first, and none behind a distributed run: no server starts another run before that has ended. */
export async function loadBenchmarks(ctx: OrganizationCtx, serverId: string): Promise<BenchmarkPlanRow[]> {
  const runs = await ctx.tx.benchmarkRun.findMany({
    where: {
      organizationId: ctx.organizationId,
      OR: [{ serverId }, { servers: { some: { serverId } } }],
      state: { in: ['queued', 'running'] },
    },
    select: {
      ...{
        id: true,
        appId: true,
        environmentId: true,
        serverId: true,
        state: true,
        createdAt: true,
        plan: true,
        facts: true,
      },
      ...{ loadRow: true, loadStartAt: true, loadPort: true },
      servers: {
        select: { serverId: true, role: true, clockOffsetUs: true },
        orderBy: { position: 'asc' },
      },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const rows: BenchmarkPlanRow[] = [];
  for (const run of runs) {
    const { id: runId, appId, environmentId } = run;
    const plan = storedPlanSchema.parse(run.plan);
    const liveReleaseId = benchmarkFactsSchema.nullable().parse(run.facts)?.release?.id ?? null;
    if (run.servers.length === 0) {
      rows.push({ runId, appId, environmentId, plan, liveReleaseId });
      continue;
    }
    const row = (await isFirst(ctx, run)) ? await partOf(ctx, run, serverId, plan) : null;
    if (row !== null) rows.push({ runId, appId, environmentId, liveReleaseId, ...row });
    break;
  }
  return rows;
}

/**
 * True if no server of the run has an older one. All queues have the same order, so the oldest run is the first everywhere, and
 * runs can't wait for each other.
 */
async function isFirst({ tx, organizationId }: OrganizationCtx, run: DistributedRun): Promise<boolean> {
  if (run.state === 'running') return true;
  const serverIds = run.servers.map(({ serverId }) => serverId);
  const older = await tx.benchmarkRun.findFirst({
    where: {
      organizationId,
      state: { in: ['queued', 'running'] },
      AND: [
        { OR: [{ serverId: { in: serverIds } }, { servers: { some: { serverId: { in: serverIds } } } }] },
        { OR: [{ createdAt: { lt: run.createdAt } }, { createdAt: run.createdAt, id: { lt: run.id } }] },
      ],
    },
    select: { id: true },
  });
  return older === null;
}

/** Returns null for a load server until the app's server has reported its port. */
async function partOf(
  ctx: OrganizationCtx,
  run: DistributedRun,
  serverId: string,
  plan: StoredPlan,
): Promise<{ plan: StoredPlan; part: BenchmarkPartRow } | null> {
  const own = run.servers.find((server) => server.serverId === serverId);
  if (own === undefined) return null;
  const startUnixUs =
    run.loadStartAt === null ? 0n : BigInt(run.loadStartAt.getTime()) * 1000n + (own.clockOffsetUs ?? 0n);
  const order = { row: run.loadRow, startUnixUs };
  if (own.role === 'measure') {
    return { plan, part: { role: BenchmarkRole.MEASURE, addresses: [], caPem: '', ...order } };
  }
  if (run.loadPort === null) return null;
  const target = await ctx.tx.server.findFirst({
    where: { id: run.serverId ?? '', organizationId: ctx.organizationId },
    select: { interfaceAddresses: true, connectionAddress: true, enteredAddresses: true, hostInfo: true },
  });
  if (target === null) return null;
  const { interfaceAddresses, connectionAddress, enteredAddresses } = target;
  const connection = connectionAddress === null ? [] : [connectionAddress];
  const addresses = [...new Set([...interfaceAddresses, ...enteredAddresses, ...connection])];
  const load = run.servers.filter(({ role }) => role === 'load');
  const { localCaPem } = target.hostInfo as { readonly localCaPem?: unknown };
  return {
    plan: shareOf(plan, load.indexOf(own), load.length),
    part: {
      role: BenchmarkRole.LOAD,
      addresses: addresses.slice(0, ADDRESSES_MAX).map((address) => withPort(address, run.loadPort ?? 0)),
      caPem: typeof localCaPem === 'string' ? localCaPem : '',
      ...order,
    },
  };
}

function withPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
