// Advances a distributed run row by row: all servers get ready, start at a common time and report, then their parts are merged.
// Invariant: a row is stored whole or not at all. A server that fails or is lost ends the run.
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type BenchmarkRow, BenchmarkRowSchema, type BenchmarkStatus, WorkState } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { loadAddresses } from '../desired-state/index.ts';
import { AppError, clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { START_LEAD_MS } from './distribution.ts';
import { endFactsOf, outcomeOfRun } from './end-run.ts';
import { latencyOf, mergeParts } from './merge-parts.ts';
import { advanceQueues, bumpServers, serversOf } from './queue.ts';
import { type RowPart, storedPlanSchema } from './schema.ts';
import { clampBig, clampInt, failuresOf, storeRows } from './store-rows.ts';

/** Age of a clock's measurement: the gateway measures every 20 seconds. */
const CLOCK_AGE_MAX_MS = 60_000;
/** Greatest uncertainty of a clock with which the servers still measure at the same time. */
const CLOCK_UNCERTAINTY_MAX_US = 250_000;
const PORT_MAX = 65_535;

interface RunServerRow {
  readonly serverId: string;
  readonly name: string;
  readonly role: string;
  readonly rowsReady: number;
  readonly part: Uint8Array | null;
  readonly clockOffsetUs: bigint | null;
}

interface DistributedRun {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly serverId: string | null;
  readonly state: string;
  readonly plan: unknown;
  readonly facts: unknown;
  readonly rowsTotal: number;
  readonly startedAt: Date | null;
  readonly loadRow: number;
  readonly loadStartAt: Date | null;
  readonly loadPort: number | null;
  readonly servers: readonly RunServerRow[];
}

/** Records what one server of a run reported. Throws link.malformed for an invalid histogram. */
export async function recordPart(
  ctx: OrganizationCtx,
  input: { readonly runId: string; readonly serverId: string; readonly status: BenchmarkStatus },
): Promise<void> {
  const { serverId, status } = input;
  const run = await lockRun(ctx, input.runId);
  const server = run?.servers.find((each) => each.serverId === serverId);
  if (run === null || server === undefined) return;
  if (status.state === WorkState.FAILED) {
    const message = clipText(status.failure?.message ?? '', 1000) || 'Its part failed.';
    await failRun(ctx, run, `${server.name}: ${message}`);
    return;
  }
  if (status.state !== WorkState.RUNNING && status.state !== WorkState.SUCCEEDED) return;

  if (server.role === 'measure' && run.loadPort === null && status.rowsReady > 0 && status.httpsPort === 0) {
    await failRun(ctx, run, `${server.name}: its proxy does not listen for HTTPS.`);
    return;
  }

  const needsPort = server.role === 'measure' && run.loadPort === null && status.httpsPort > 0;
  const fault = needsPort ? await faultOfTarget(ctx, run, server, status.httpsPort) : null;
  if (fault !== null) {
    await failRun(ctx, run, fault);
    return;
  }

  const row = status.rows.find(({ position }) => position === run.loadRow);
  if (row !== undefined) requireMergeable(row, run.servers.length);
  // Ignores the part of an agent that began before the common start was set.
  const part = row === undefined || run.loadStartAt === null ? server.part : toBinary(BenchmarkRowSchema, row);
  const rowsReady = Math.min(status.rowsReady, run.rowsTotal);
  const servers = run.servers.map((each) => (each === server ? { ...each, part, rowsReady } : each));
  await ctx.tx.benchmarkRunServer.updateMany({
    where: { runId: run.id, serverId, organizationId: ctx.organizationId },
    data: { rowsReady, part: part === null ? null : new Uint8Array(part) },
  });
  const begins = run.state === 'queued';
  const port = needsPort ? status.httpsPort : null;
  if (begins || port !== null) {
    await ctx.tx.benchmarkRun.update({
      where: { id: run.id },
      data: {
        ...(begins ? { state: 'running', startedAt: ctx.clock.now(), loadStepAt: ctx.clock.now() } : {}),
        ...(port === null ? {} : { loadPort: port }),
      },
    });
    await bumpServers(ctx, serversOf(run));
    await notifyChange(ctx, { kind: 'benchmark', id: run.id, appId: run.appId });
  }
  const now = { ...run, servers };
  if (run.loadStartAt === null) await startRow(ctx, now);
  else await endRow(ctx, now, run.loadStartAt);
}

/**
 * Throws link.malformed for a histogram that is invalid, or whose sum with those of the others could not be stored: the report of
 * another server merges it, and must not fail because of this one.
 */
function requireMergeable(row: BenchmarkRow, servers: number): void {
  const { sumUs, counts } = latencyOf(row);
  const most = Number.MAX_SAFE_INTEGER / servers;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (sumUs > most || total > most) throw new AppError('link.malformed', { field: 'benchmarks.rows.latency' });
}

/** Returns why load servers can't reach the app's server, or null. An agent would refuse its whole state with such a target. */
async function faultOfTarget(
  { tx, organizationId }: OrganizationCtx,
  run: DistributedRun,
  { serverId, name }: RunServerRow,
  port: number,
): Promise<string | null> {
  if (port > PORT_MAX) return `${name}: its proxy has an invalid port.`;
  const known = await tx.server.findMany({
    where: { id: { in: run.servers.map((each) => each.serverId) }, organizationId },
    select: { id: true, interfaceAddresses: true, connectionAddress: true, enteredAddresses: true },
  });
  const target = known.find(({ id }) => id === serverId);
  const isReachable = (loadServer: (typeof known)[number]) =>
    target !== undefined && loadAddresses(target, loadServer).length > 0;
  const unreached = run.servers.filter(({ role, ...each }) => {
    const loadServer = known.find(({ id }) => id === each.serverId);
    return role === 'load' && loadServer !== undefined && !isReachable(loadServer);
  });
  return unreached.length === 0 ? null : `${name}: it has no address that a load server can use.`;
}

/** Locks the run, because the reports of its servers arrive at the same time. Null: it has ended. */
async function lockRun(ctx: OrganizationCtx, runId: string): Promise<DistributedRun | null> {
  const { tx, organizationId } = ctx;
  await tx.$queryRaw`SELECT id FROM benchmark_run WHERE id = ${runId} AND organization_id = ${organizationId} FOR UPDATE`;
  return await tx.benchmarkRun.findFirst({
    where: { id: runId, organizationId, state: { in: ['queued', 'running'] } },
    include: { servers: { orderBy: { position: 'asc' } } },
  });
}

/** Sets the common start once all servers are ready. */
async function startRow(ctx: OrganizationCtx, run: DistributedRun): Promise<void> {
  if (!run.servers.every(({ rowsReady }) => rowsReady > run.loadRow)) return;
  const { tx, organizationId } = ctx;
  const nowMs = ctx.clock.now().getTime();
  const clocks = await tx.server.findMany({
    where: { id: { in: run.servers.map(({ serverId }) => serverId) }, organizationId },
    select: { id: true, clockOffsetUs: true, clockUncertaintyUs: true, clockMeasuredAt: true },
  });
  for (const { serverId, name } of run.servers) {
    const clock = clocks.find(({ id }) => id === serverId);
    const ageMs = nowMs - (clock?.clockMeasuredAt?.getTime() ?? 0);
    const uncertaintyUs = clock?.clockUncertaintyUs ?? Number.POSITIVE_INFINITY;
    if (clock === undefined || ageMs > CLOCK_AGE_MAX_MS || uncertaintyUs > CLOCK_UNCERTAINTY_MAX_US) {
      await failRun(ctx, run, `${name}: its clock is not known within ${CLOCK_UNCERTAINTY_MAX_US / 1000} ms.`);
      return;
    }
    await tx.benchmarkRunServer.updateMany({
      where: { runId: run.id, serverId, organizationId },
      data: { clockOffsetUs: clock.clockOffsetUs, clockUncertaintyUs: uncertaintyUs },
    });
  }
  const { warmupMs } = storedPlanSchema.parse(run.plan);
  const loadStartAt = new Date(nowMs + START_LEAD_MS + warmupMs);
  await tx.benchmarkRun.update({ where: { id: run.id }, data: { loadStartAt, loadStepAt: ctx.clock.now() } });
  await bumpServers(ctx, serversOf(run));
}

/** Stores the merged row once all parts are there, and goes on to the next one. */
async function endRow(ctx: OrganizationCtx, run: DistributedRun, startAt: Date): Promise<void> {
  const { tx, organizationId } = ctx;
  const parts = run.servers.flatMap(({ part, ...server }) =>
    part === null ? [] : [{ ...server, row: fromBinary(BenchmarkRowSchema, part) }],
  );
  if (parts.length < run.servers.length) return;
  const merged = mergeParts(parts.map(({ role, row }) => ({ role: roleOf(role), row })));
  await storeRows(
    ctx,
    run.id,
    [merged],
    parts.map((part) => toPart(part, startAt)),
  );
  const rowsDone = run.loadRow + 1;
  const isLast = rowsDone >= run.rowsTotal;
  await tx.benchmarkRunServer.updateMany({ where: { runId: run.id, organizationId }, data: { part: null } });
  await tx.benchmarkRun.update({
    where: { id: run.id },
    data: {
      ...{ rowsDone, loadRow: rowsDone, loadStartAt: null, loadStepAt: ctx.clock.now() },
      ...(isLast
        ? {
            state: 'succeeded',
            finishedAt: ctx.clock.now(),
            outcome: await outcomeOfRun(ctx, run),
            ...(await endFactsOf(ctx, { ...run, serverId: run.serverId ?? '' })),
          }
        : {}),
    },
  });
  if (isLast) await advanceQueues(ctx, serversOf(run));
  else await bumpServers(ctx, serversOf(run));
  await notifyChange(ctx, { kind: 'benchmark', id: run.id, appId: run.appId });
}

/** Fails a run with a message that names the server. Earlier rows stay. */
export async function failRun(
  ctx: OrganizationCtx,
  run: Pick<DistributedRun, 'id' | 'appId' | 'serverId'> & {
    readonly servers: readonly { readonly serverId: string }[];
  },
  failureMessage: string,
): Promise<void> {
  const { count } = await ctx.tx.benchmarkRun.updateMany({
    where: { id: run.id, organizationId: ctx.organizationId, state: { in: ['queued', 'running'] } },
    data: {
      state: 'failed',
      finishedAt: ctx.clock.now(),
      failureCode: 'benchmark.load_server_failed',
      failureMessage,
    },
  });
  if (count === 0) return;
  await advanceQueues(ctx, serversOf(run));
  await notifyChange(ctx, { kind: 'benchmark', id: run.id, appId: run.appId });
}

function toPart({ row, ...server }: Omit<RunServerRow, 'part'> & { readonly row: BenchmarkRow }, startAt: Date) {
  const latency = latencyOf(row);
  const startUs = row.startUnixUs - (server.clockOffsetUs ?? 0n) - BigInt(startAt.getTime()) * 1000n;
  return {
    serverId: parseId('srv', server.serverId),
    name: server.name,
    role: roleOf(server.role),
    concurrency: clampInt(row.concurrency),
    clients: clampInt(row.clients),
    requests: Number(clampBig(row.requests)),
    errors: Number(clampBig(row.errors)),
    failures: failuresOf(row),
    bytesReceived: Number(clampBig(row.bytesReceived)),
    latency: { sumUs: latency.sumUs, counts: [...latency.counts] },
    latencyMaxUs: Number(clampBig(row.latencyMaxUs)),
    unsent: Number(clampBig(row.unsent)),
    generatorCpuUs: Number(clampBig(row.generatorCpuUs)),
    generatorSaturated: row.generatorSaturated,
    startOffsetUs: Number(BigInt.asIntN(53, startUs)),
  };
}

function roleOf(role: string): RowPart['role'] {
  return role === 'measure' ? 'measure' : 'load';
}
