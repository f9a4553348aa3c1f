// Converts the API's metrics and the live samples after them to chart rows. Pure.
import { latencyOfPairs } from '@fairlead/contract/buckets';
import type { AppSample, ServerSample } from '@fairlead/contract/live';
import type { Marker } from '@fairlead/ui/charts/prepare/markers';
import type { TimeRow } from '@fairlead/ui/charts/prepare/time-series';
import { shortHash } from '@fairlead/ui/lib/format';
import type { AppMetric, ServerMetric } from '../../api/types.ts';
import { deploymentLook } from '../deployment/states.ts';

type AppPoint = AppMetric['points'][number];

/** Rows of an app. CPU is a share of all `cores` of its servers. */
export function appRows(points: readonly AppPoint[], cores: number): TimeRow[] {
  return points.map((point) => appRow(point.at.getTime(), point, cores));
}

/** Rows of the steps in which live samples arrived, with the same means and merged quantiles as the API's. */
export function liveAppRows(samples: readonly AppSample[], stepMs: number, cores: number): TimeRow[] {
  const steps = Map.groupBy(samples, ({ unixMs }) => Math.floor(unixMs / stepMs) * stepMs);
  return [...steps].map(([at, inStep]) => {
    const servers = [...Map.groupBy(inStep, ({ serverId }) => serverId).values()];
    const sum = (ofServer: (own: readonly AppSample[]) => number) =>
      servers.reduce((total, own) => total + ofServer(own), 0);
    const figures = {
      requestsPerSecond: sum((own) => mean(own, (each) => each.requestsPerSecond)),
      errorsPerSecond: sum((own) => mean(own, (each) => each.errorsPerSecond)),
      clientErrorsPerSecond: sum((own) => mean(own, (each) => each.clientErrorsPerSecond)),
      cpuMillis: sum((own) => mean(own, (each) => each.cpuMillis)),
      memoryBytes: sum((own) => peak(own, (each) => each.memoryBytes)),
      ...latencyOfPairs(inStep.map(({ latency }) => latency)),
    };
    return appRow(at, figures, cores);
  });
}

function appRow(at: number, figures: Omit<AppPoint, 'at' | 'inFlight'>, cores: number): TimeRow {
  const { requestsPerSecond, errorsPerSecond, clientErrorsPerSecond } = figures;
  return {
    at,
    values: {
      requests: requestsPerSecond,
      // Exchanges that failed before a response count as errors too, so the rest may be a little below zero.
      successes: Math.max(0, requestsPerSecond - errorsPerSecond - clientErrorsPerSecond),
      clientErrors: clientErrorsPerSecond,
      errors: errorsPerSecond,
      p50: figures.p50Ms,
      p95: figures.p95Ms,
      p99: figures.p99Ms,
      cpu: cpuShare(figures.cpuMillis, cores),
      memory: figures.memoryBytes,
    },
  };
}

/** Rows of a server. CPU is a share of all its `cores`. */
export function serverRows(points: Readonly<ServerMetric['points']>, cores: number): TimeRow[] {
  return points.map((point) => ({
    at: point.at.getTime(),
    values: {
      cpu: cpuShare(point.cpuMillis, cores),
      memory: point.memoryUsedBytes,
      disk: point.diskUsedBytes,
      received: point.networkReceivedPerSecond,
      sent: point.networkSentPerSecond,
      agentMemory: point.agentMemoryBytes,
      connections: point.openConnections,
    },
  }));
}

export function liveServerRows(samples: readonly ServerSample[], stepMs: number, cores: number): TimeRow[] {
  const steps = Map.groupBy(samples, ({ unixMs }) => Math.floor(unixMs / stepMs) * stepMs);
  return [...steps].map(([at, inStep]) => ({
    at,
    values: {
      cpu: cpuShare(
        mean(inStep, (each) => each.cpuMillis),
        cores,
      ),
      memory: peak(inStep, (each) => each.memoryUsedBytes),
      disk: peak(inStep, (each) => each.diskUsedBytes),
      received: mean(inStep, (each) => each.networkReceivedBytesPerSecond),
      sent: mean(inStep, (each) => each.networkSentBytesPerSecond),
      agentMemory: peak(inStep, (each) => each.agentMemoryBytes),
      connections: peak(inStep, (each) => each.openConnections),
    },
  }));
}

/** Continues fetched rows, which are whole until `to`, with the live rows after them; drops rows before the span. */
export function appendLiveRows(
  fetched: readonly TimeRow[],
  live: readonly TimeRow[],
  to: number,
  from: number,
): TimeRow[] {
  const later = live.filter((row) => row.at >= to).sort((one, other) => one.at - other.at);
  return [...fetched.filter((row) => row.at < to), ...later].filter((row) => row.at >= from);
}

/** Share of the machine from 0 to 1; null while its cores are unknown. */
function cpuShare(millis: number | null, cores: number): number | null {
  return millis === null || cores === 0 ? null : Math.min(1, millis / 1000 / cores);
}

function mean<Sample>(samples: readonly Sample[], pick: (sample: Sample) => number): number {
  return samples.reduce((total, sample) => total + pick(sample), 0) / samples.length;
}

function peak<Sample>(samples: readonly Sample[], pick: (sample: Sample) => number): number {
  return Math.max(...samples.map(pick));
}

/** Returns markers for the deployments that changed the live release, and for those that failed to. */
export function deployMarkers(markers: AppMetric['markers'], hrefOf: (deploymentId: string) => string): Marker[] {
  return markers.map((marker) => {
    const hash = marker.commitHash === null ? `#${marker.number}` : shortHash(marker.commitHash);
    const state = deploymentLook[marker.state];
    return {
      id: marker.deploymentId,
      at: marker.at.getTime(),
      label: hash,
      title: `Deployment #${marker.number}, ${hash}: ${state.label.toLowerCase()}`,
      href: hrefOf(marker.deploymentId),
      tone: state.tone === 'bad' ? 'bad' : state.tone === 'ok' ? 'ok' : 'idle',
    };
  });
}
