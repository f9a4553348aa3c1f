// Returns the chart of an app. Quantiles come from merged histograms, never from averages of quantiles.
import {
  decodeHistogram,
  emptyHistogram,
  type Histogram,
  mergeHistograms,
  quantileMs,
} from '@fairlead/contract/histogram';
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { Ctx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { type AppMetric, type AppMetricInput, type AppPoint, markerStateSchema } from './schema.ts';
import { chartWindow, elapsedSeconds } from './windows.ts';

interface SampleRow {
  readonly serverId: string;
  readonly at: Date;
  readonly seconds: number;
  readonly requests: bigint;
  readonly errors: bigint;
  readonly clientErrors: bigint;
  readonly latency: Uint8Array | null;
  readonly cpuMillis: number;
  readonly memoryBytes: bigint;
  readonly inFlight: number;
}

/** Requests, errors, latency, CPU and memory of an app on all its servers over a period, and where deployments went live or failed in it. */
export async function getAppMetric(ctx: Ctx, input: AppMetricInput): Promise<AppMetric> {
  const { organizationId } = ctx;
  const { appId } = input;
  const { environmentId, servers } = await requirePlacement(ctx, input);
  const serverIds = servers.map(({ serverId }) => serverId);
  const now = ctx.clock.now();
  const window = chartWindow(input, now);
  const rows: SampleRow[] = [];
  for (const segment of window.segments) {
    rows.push(
      ...(await ctx.tx.$queryRaw<SampleRow[]>`
        SELECT server_id AS "serverId", at, seconds, requests, errors, client_errors AS "clientErrors",
               CASE WHEN requests > 0 THEN latency END AS "latency",
               cpu_millis_avg AS "cpuMillis", memory_bytes_max AS "memoryBytes", in_flight_max AS "inFlight"
        FROM ${Prisma.raw(`metric.app_${segment.resolution}`)}
        WHERE app_id = ${appId} AND environment_id = ${environmentId} AND server_id = ANY(${[...serverIds]}::text[])
          AND organization_id = ${organizationId} AND at >= ${segment.from} AND at < ${segment.until}`),
    );
  }
  const deployments = await ctx.tx.deployment.findMany({
    where: {
      appId,
      environmentId,
      organizationId,
      state: { in: ['live', 'failed'] },
      finishedAt: { gte: window.from, lt: new Date(Math.min(window.to.getTime(), now.getTime())) },
    },
    select: { id: true, number: true, commitHash: true, state: true, finishedAt: true },
    orderBy: { finishedAt: 'desc' },
    take: 100,
  });

  const steps = Map.groupBy(rows, (row) => Math.floor((row.at.getTime() - window.from.getTime()) / window.stepMs));
  const histograms: Histogram[] = [];
  const points: AppPoint[] = [];
  const count = Math.round((window.to.getTime() - window.from.getTime()) / window.stepMs);
  for (let index = 0; index < count; index += 1) {
    const startMs = window.from.getTime() + index * window.stepMs;
    const { point, histogram } = toPoint(startMs, elapsedSeconds(startMs, window.stepMs, now), steps.get(index) ?? []);
    points.push(point);
    histograms.push(histogram);
  }
  const whole = mergeHistograms(histograms);
  return {
    stepMs: window.stepMs,
    from: window.from,
    to: window.to,
    points,
    totals: {
      requests: sum(rows, (row) => row.requests),
      errors: sum(rows, (row) => row.errors),
      clientErrors: sum(rows, (row) => row.clientErrors),
      p50Ms: quantileMs(whole, 0.5),
      p95Ms: quantileMs(whole, 0.95),
      p99Ms: quantileMs(whole, 0.99),
    },
    markers: deployments
      .reverse()
      .flatMap(({ finishedAt, id, ...row }) =>
        finishedAt === null
          ? []
          : [{ ...row, at: finishedAt, deploymentId: parseId('dep', id), state: markerStateSchema.parse(row.state) }],
      ),
  };
}

function toPoint(
  startMs: number,
  seconds: number,
  rows: readonly SampleRow[],
): { point: AppPoint; histogram: Histogram } {
  const latencies = rows.flatMap(({ latency }) => (latency === null ? [] : [decodeHistogram(latency)]));
  const histogram = latencies.length === 0 ? emptyHistogram : mergeHistograms(latencies);
  const servers = [...Map.groupBy(rows, ({ serverId }) => serverId).values()];
  const overServers = (ofServer: (samples: readonly SampleRow[]) => number): number | null =>
    servers.length === 0 ? null : servers.reduce((total, samples) => total + ofServer(samples), 0);
  const point: AppPoint = {
    at: new Date(startMs),
    requestsPerSecond: sum(rows, (row) => row.requests) / seconds,
    errorsPerSecond: sum(rows, (row) => row.errors) / seconds,
    clientErrorsPerSecond: sum(rows, (row) => row.clientErrors) / seconds,
    p50Ms: quantileMs(histogram, 0.5),
    p95Ms: quantileMs(histogram, 0.95),
    p99Ms: quantileMs(histogram, 0.99),
    // Averages and peaks are each server's own before they are added up.
    cpuMillis: overServers(averageCpu),
    memoryBytes: overServers((samples) => Math.max(...samples.map((row) => Number(row.memoryBytes)))),
    inFlight: overServers((samples) => Math.max(...samples.map((row) => row.inFlight))),
  };
  return { point, histogram };
}

function averageCpu(rows: readonly SampleRow[]): number {
  const seconds = rows.reduce((total, row) => total + row.seconds, 0);
  return rows.reduce((total, row) => total + row.cpuMillis * row.seconds, 0) / seconds;
}

function sum(rows: readonly SampleRow[], pick: (row: SampleRow) => bigint): number {
  return rows.reduce((total, row) => total + Number(pick(row)), 0);
}
