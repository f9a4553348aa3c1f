// Loads the benchmark runs of a server. A distributed run waits until it is the first in the queue of each.
import { BenchmarkRole } from '@fairlead/contract/agent';
import { benchmarkFactsSchema, type StoredPlan, storedPlanSchema } from '../benchmark/schema.ts';
import { portCheckOf } from '../host/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { loadAddresses } from './load-addresses.ts';
import { shareOf } from './load-share.ts';
import type { BenchmarkPartRow, BenchmarkPlanRow } from './to-desired-state.ts';

/** Fields that only load servers get. */
const noTarget = { addresses: [], caPem: '', checkName: '', checkAnswer: new Uint8Array() };

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

/** Returns null for a load server until the app's server has reported its port, and if it has no address. */
async function partOf(
  ctx: OrganizationCtx,
  run: DistributedRun,
  serverId: string,
  plan: StoredPlan,
): Promise<{ plan: StoredPlan; part: BenchmarkPartRow } | null> {
  const own = run.servers.find((server) => server.serverId === serverId);
  if (own === undefined) return null;
  const startMs = run.loadStartAt?.getTime();
  const startUs = startMs === undefined ? 0n : BigInt(startMs) * 1000n + (own.clockOffsetUs ?? 0n);
  // A clock far behind would make it negative, which no message can hold.
  const order = { row: run.loadRow, startUnixUs: startUs < 0n ? 0n : startUs };
  if (own.role === 'measure') return { plan, part: { ...noTarget, role: BenchmarkRole.MEASURE, ...order } };
  const { loadPort } = run;
  if (loadPort === null) return null;
  const { tx, organizationId } = ctx;
  const select = { interfaceAddresses: true, connectionAddress: true, enteredAddresses: true, hostInfo: true };
  const target = await tx.server.findFirst({ where: { id: run.serverId ?? '', organizationId }, select });
  const loadServer = await tx.server.findFirst({ where: { id: serverId, organizationId }, select });
  if (target === null || loadServer === null) return null;
  const addresses = loadAddresses(target, loadServer);
  // An agent refuses a state with an empty list.
  if (addresses.length === 0) return null;
  const { portCheckToken } = await tx.organization.findUniqueOrThrow({
    where: { id: organizationId },
    select: { portCheckToken: true },
  });
  const check = portCheckOf(portCheckToken);
  const load = run.servers.filter(({ role }) => role === 'load');
  const { localCaPem } = target.hostInfo as { readonly localCaPem?: unknown };
  return {
    plan: shareOf(plan, load.indexOf(own), load.length),
    part: {
      role: BenchmarkRole.LOAD,
      addresses: addresses.map((address) => withPort(address, loadPort)),
      caPem: typeof localCaPem === 'string' ? localCaPem : '',
      checkName: check.name,
      checkAnswer: new Uint8Array(Buffer.from(check.answer, 'base64url')),
      ...order,
    },
  };
}

function withPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
