// Stores the rows and programs that an agent reported for a run.
import {
  type BenchmarkLinkReport,
  BenchmarkPhase,
  BenchmarkProbe,
  BenchmarkProtocol,
  type BenchmarkRow,
  type BenchmarkStatus,
  BenchmarkTarget,
  NetworkPath,
  type MachineNoise as ReportedNoise,
} from '@fairlead/contract/agent';
import { encodeHistogram, histogramFromWire } from '@fairlead/contract/histogram';
import { newId } from '@fairlead/contract/ids';
import { AppError, clipText, type OrganizationCtx } from '../kernel/index.ts';
import type { PROBES } from './plan.ts';
import type {
  BenchmarkProgram,
  BenchmarkProtocolName,
  BenchmarkTargetName,
  LinkReport,
  MachineNoise,
  NetworkPathName,
  RowPart,
  StoredPlan,
} from './schema.ts';

const FAILURE_KINDS_MAX = 20;
const STAGES_MAX = 10;
const CONFIGURATION_CHARS_MAX = 20_000;

const targets: Readonly<Partial<Record<BenchmarkTarget, BenchmarkTargetName>>> = {
  [BenchmarkTarget.PROXY]: 'proxy',
  [BenchmarkTarget.DIRECT]: 'direct',
  [BenchmarkTarget.FLOOR]: 'floor',
  [BenchmarkTarget.NGINX]: 'nginx',
  [BenchmarkTarget.HAPROXY]: 'haproxy',
  [BenchmarkTarget.ENVOY]: 'envoy',
  [BenchmarkTarget.CADDY]: 'caddy',
  [BenchmarkTarget.TRAEFIK]: 'traefik',
  [BenchmarkTarget.H2O]: 'h2o',
  [BenchmarkTarget.KAMAL_PROXY]: 'kamal-proxy',
  [BenchmarkTarget.SPOOKY]: 'spooky',
  [BenchmarkTarget.GODOXY]: 'godoxy',
};
const protocols: Readonly<Partial<Record<BenchmarkProtocol, BenchmarkProtocolName>>> = {
  [BenchmarkProtocol.HTTP1]: 'http1',
  [BenchmarkProtocol.HTTP2]: 'http2',
  [BenchmarkProtocol.HTTP3]: 'http3',
  [BenchmarkProtocol.HTTP1_CLEARTEXT]: 'http1-cleartext',
  [BenchmarkProtocol.GRPC]: 'grpc',
};
const phases: Readonly<Partial<Record<BenchmarkPhase, string>>> = {
  [BenchmarkPhase.BEFORE]: 'before',
  [BenchmarkPhase.DURING]: 'during',
  [BenchmarkPhase.AFTER]: 'after',
};
const probes: Readonly<Partial<Record<BenchmarkProbe, (typeof PROBES)[number]>>> = {
  [BenchmarkProbe.JSON]: 'json',
  [BenchmarkProbe.UPLOAD]: 'upload',
  [BenchmarkProbe.STREAM_FIRST_BYTE]: 'stream-first-byte',
  [BenchmarkProbe.STREAM]: 'stream',
  [BenchmarkProbe.SSE]: 'sse',
  [BenchmarkProbe.WEBSOCKET]: 'websocket',
};
const networkPaths: Readonly<Partial<Record<NetworkPath, NetworkPathName>>> = {
  [NetworkPath.SHARED_NETWORK]: 'shared-network',
  [NetworkPath.OWN_NETWORK]: 'own-network',
  [NetworkPath.UNIX_SOCKET]: 'unix-socket',
  [NetworkPath.BENCH_NAMESPACE]: 'bench-namespace',
  [NetworkPath.BETWEEN_SERVERS]: 'between-servers',
};

/** Stores each row once, by its position; returns the number of new ones. `parts` are those of one row's servers. */
export async function storeRows(
  ctx: OrganizationCtx,
  runId: string,
  rows: readonly BenchmarkRow[],
  parts: readonly RowPart[] = [],
): Promise<number> {
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
          phase: row.stage > 0 ? `stage-${Math.min(row.stage, STAGES_MAX)}` : (phases[row.phase] ?? null),
          probe: probes[row.probe] ?? null,
          failures: failuresOf(row),
          generatorCpuUs: clampBig(row.generatorCpuUs),
          isSaturated: row.generatorSaturated,
          appCpuUs: clampBig(row.appCpuUs),
          clients: clampInt(row.clients),
          latencyMaxUs: clampBig(row.latencyMaxUs),
          unsent: clampBig(row.unsent),
          ...(row.noise === undefined ? {} : { noise: noiseOf(row.noise) }),
          ...(row.link === undefined ? {} : { link: linkOf(row.link) }),
          appConnections: clampInt(row.appConnections),
          parts: [...parts],
        },
      ];
    }),
    skipDuplicates: true,
  });
  return count;
}

function linkOf(link: BenchmarkLinkReport): LinkReport {
  const count = (value: bigint) => Number(clampBig(value));
  return {
    lossPercent: (link.condition?.lossPerMillion ?? 0) / 10_000,
    delayMs: link.condition?.delayMs ?? 0,
    packets: count(link.packets),
    lost: count(link.lost),
    overflowed: count(link.overflowed),
    forwarded: count(link.forwarded),
    kernelSent: count(link.kernelSent),
    kernelReceived: count(link.kernelReceived),
    roundTripMs: count(link.roundTripUs) / 1000,
  };
}

/** Kinds that a newer agent may add are kept; a name is bounded, because a page shows it. */
export function failuresOf({ failures }: BenchmarkRow): Record<string, number> {
  const kinds = Object.entries(failures)
    .filter(([kind]) => kind !== '')
    .slice(0, FAILURE_KINDS_MAX);
  return Object.fromEntries(kinds.map(([kind, count]) => [clipText(kind, 40), Number(clampBig(count))]));
}

function noiseOf({ machineCpuUs, otherCpuUs, stealUs, frequencyMhz }: ReportedNoise): MachineNoise {
  return {
    machineCpuUs: Number(clampBig(machineCpuUs)),
    otherCpuUs: otherCpuUs === undefined ? null : Number(clampBig(otherCpuUs)),
    stealUs: Number(clampBig(stealUs)),
    frequencyMhz: frequencyMhz === 0 ? null : frequencyMhz,
  };
}

/** Returns at most one for each target of the plan. */
export function programsOf(status: BenchmarkStatus, plan: StoredPlan): BenchmarkProgram[] {
  const known = new Map(status.programs.map((program) => [program.target, program]));
  return [...known.values()].flatMap(({ target, version, configuration, skipped }) => {
    const name = targets[target];
    if (name === undefined || !plan.targets.includes(name)) return [];
    return [
      {
        target: name,
        version: clipText(version, 200),
        configuration: clipText(configuration, CONFIGURATION_CHARS_MAX),
        skipped: clipText(skipped, 500) || null,
      },
    ];
  });
}

// Limits a number to the range of a column; an agent's numbers are unsigned and wider.
export function clampInt(value: number): number {
  return Math.min(value, 2_147_483_647);
}

export function clampBig(value: bigint): bigint {
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  return value < most ? value : most;
}
