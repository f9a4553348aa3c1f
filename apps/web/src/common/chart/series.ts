// Converts the API's metrics and the live samples after them to chart rows. Pure.
import type { AppSample, ServerSample } from '@fairlead/contract/live';
import type { Marker } from '@fairlead/ui/charts/prepare/markers';
import { appendRow, type TimeRow } from '@fairlead/ui/charts/prepare/time-series';
import { shortHash } from '@fairlead/ui/lib/format';
import type { AppMetric, ServerMetric } from '../../api/types.ts';
import { deploymentLook } from '../deployment/states.ts';

export function appRows(points: Readonly<AppMetric['points']>): TimeRow[] {
  return points.map((point) => ({
    at: point.at.getTime(),
    values: {
      requests: point.requestsPerSecond,
      errors: point.errorsPerSecond,
      p50: point.p50Ms,
      p95: point.p95Ms,
      p99: point.p99Ms,
      cpu: point.cpuMillis,
      memory: point.memoryBytes,
    },
  }));
}

export function appSampleRow(sample: AppSample): TimeRow {
  return {
    at: sample.unixMs,
    values: {
      requests: sample.requestsPerSecond,
      errors: sample.errorsPerSecond,
      p50: sample.p50Ms,
      p95: sample.p95Ms,
      p99: sample.p99Ms,
      cpu: sample.cpuMillis,
      memory: sample.memoryBytes,
    },
  };
}

export function serverRows(points: Readonly<ServerMetric['points']>): TimeRow[] {
  return points.map((point) => ({
    at: point.at.getTime(),
    values: {
      cpu: point.cpuMillis,
      memory: point.memoryUsedBytes,
      disk: point.diskUsedBytes,
      received: point.networkReceivedPerSecond,
      sent: point.networkSentPerSecond,
      load: point.load1,
      agentCpu: point.agentCpuMillis,
      agentMemory: point.agentMemoryBytes,
      connections: point.openConnections,
    },
  }));
}

export function serverSampleRow(sample: ServerSample): TimeRow {
  return {
    at: sample.unixMs,
    values: {
      cpu: sample.cpuMillis,
      memory: sample.memoryUsedBytes,
      disk: sample.diskUsedBytes,
      received: sample.networkReceivedBytesPerSecond,
      sent: sample.networkSentBytesPerSecond,
      load: sample.load1Millis / 1000,
      agentCpu: sample.agentCpuMillis,
      agentMemory: sample.agentMemoryBytes,
      connections: sample.openConnections,
    },
  };
}

/** Appends live rows to fetched rows; where both have a step, the live row wins. */
export function appendLiveRows(
  rows: readonly TimeRow[],
  live: readonly TimeRow[],
  stepMs: number,
  from: number,
): TimeRow[] {
  return live.reduce<TimeRow[]>((all, row) => appendRow(all, row, stepMs, from), [...rows]);
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
