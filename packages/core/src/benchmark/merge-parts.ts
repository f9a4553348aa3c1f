// Merges the parts of all servers into a row of the run. Pure.
// Invariant: it merges a row only with the parts of all its servers.
import { create } from '@bufbuild/protobuf';
import { type BenchmarkRow, BenchmarkRowSchema, NetworkPath } from '@fairlead/contract/agent';
import { histogramFromWire, histogramToWire, mergeHistograms } from '@fairlead/contract/histogram';
import { AppError } from '../kernel/index.ts';

export interface ServerPart {
  readonly role: 'measure' | 'load';
  readonly row: BenchmarkRow;
}

/**
 * Adds up the counts and histograms of the load servers. Figures of proxy, app and machine come from the app's server. Throws
 * link.malformed for an invalid histogram.
 */
export function mergeParts(parts: readonly ServerPart[]): BenchmarkRow {
  const loads = parts.filter(({ role }) => role === 'load').map(({ row }) => row);
  const measured = parts.find(({ role }) => role === 'measure')?.row;
  const [first] = loads;
  if (first === undefined || measured === undefined) throw new RangeError('a row needs the parts of all its servers');
  const sum = (figure: (row: BenchmarkRow) => number) => loads.reduce((total, row) => total + figure(row), 0);
  const bigSum = (figure: (row: BenchmarkRow) => bigint) => loads.reduce((total, row) => total + figure(row), 0n);
  const failures: Record<string, bigint> = {};
  for (const row of loads) {
    for (const [kind, count] of Object.entries(row.failures)) failures[kind] = (failures[kind] ?? 0n) + count;
  }
  const { position, round, target, protocol, phase, probe, stage, durationMs } = first;
  const { proxyCpuUs, proxyMemoryBytes, appCpuUs, noise } = measured;
  return create(BenchmarkRowSchema, {
    ...{ position, round, target, protocol, phase, probe, stage, durationMs, failures },
    networkPath: NetworkPath.BETWEEN_SERVERS,
    concurrency: sum(({ concurrency }) => concurrency),
    clients: sum(({ clients }) => clients),
    requests: bigSum(({ requests }) => requests),
    errors: bigSum(({ errors }) => errors),
    unsent: bigSum(({ unsent }) => unsent),
    bytesReceived: bigSum(({ bytesReceived }) => bytesReceived),
    generatorCpuUs: bigSum(({ generatorCpuUs }) => generatorCpuUs),
    generatorSaturated: loads.some(({ generatorSaturated }) => generatorSaturated),
    latencyMaxUs: loads.reduce((most, { latencyMaxUs }) => (latencyMaxUs > most ? latencyMaxUs : most), 0n),
    latency: histogramToWire(mergeHistograms(loads.map(latencyOf))),
    ...{ proxyCpuUs, proxyMemoryBytes, appCpuUs },
    ...(noise === undefined ? {} : { noise }),
  });
}

export function latencyOf({ latency }: BenchmarkRow) {
  const histogram = histogramFromWire(latency);
  if (histogram === null) throw new AppError('link.malformed', { field: 'benchmarks.rows.latency' });
  return histogram;
}
