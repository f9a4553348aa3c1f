// Fields of an app's messages that its settings alone decide. Pure.
// Invariant: they need no ids and no findings of a build, because capabilities are checked before there are any.
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type AppSpecSchema,
  BenchmarkMetric,
  Builder,
  type ReleaseSpecSchema,
  type RolloutSchema,
} from '@fairlead/contract/agent';
import type { ThresholdMetric } from '../benchmark/schema.ts';
import { type BenchmarkGateSettings, gateWarmupMs, type HealthCheckSettings, type Settings } from '../config/index.ts';
import { appTraffic } from '../traffic/index.ts';

const readinessIntervalMs = 500;
const healthCheckTimeoutMs = 2000;
const livenessIntervalMs = 10_000;

export const builders: Readonly<Record<Settings['builder'], Builder>> = {
  auto: Builder.UNSPECIFIED,
  native: Builder.NATIVE,
  dockerfile: Builder.DOCKERFILE,
  image: Builder.IMAGE,
};

export function appFields({ autoscaling, traffic: settings }: Pick<Settings, 'autoscaling' | 'traffic'>) {
  const traffic = appTraffic(settings);
  return {
    ...(autoscaling === null ? {} : { autoscaling }),
    ...(traffic === null ? {} : { traffic }),
  } satisfies MessageInitShape<typeof AppSpecSchema>;
}

export function rolloutFields({
  startTimeoutMs,
  rollout,
  benchmarkGate,
  releaseCommand,
  postReleaseCommand,
}: Settings) {
  return {
    startTimeoutMs,
    ...(rollout.kind === 'rolling' ? { batchSize: rollout.batchSize } : {}),
    ...(rollout.kind === 'canary' ? { canary: canaryOf(rollout) } : {}),
    ...(benchmarkGate === null ? {} : { benchmarkGate: gateOf(benchmarkGate) }),
    ...(releaseCommand === null ? {} : { releaseCommand }),
    ...(postReleaseCommand === null ? {} : { postReleaseCommand }),
  } satisfies MessageInitShape<typeof RolloutSchema>;
}

const gateMetrics: Readonly<Record<ThresholdMetric, BenchmarkMetric>> = {
  requests_per_second: BenchmarkMetric.REQUESTS_PER_SECOND,
  p50_ms: BenchmarkMetric.P50_MS,
  p90_ms: BenchmarkMetric.P90_MS,
  p99_ms: BenchmarkMetric.P99_MS,
  success_percent: BenchmarkMetric.SUCCESS_PERCENT,
  // No gate has these.
  cpu_us_per_request: BenchmarkMetric.UNSPECIFIED,
  memory_bytes: BenchmarkMetric.UNSPECIFIED,
};

function gateOf({ path, concurrency, rounds, durationMs, thresholds }: BenchmarkGateSettings) {
  return {
    path,
    concurrency,
    rounds,
    durationMs,
    warmupMs: gateWarmupMs,
    thresholds: thresholds.map(({ metric, max, min, relativeTo }) => ({
      metric: gateMetrics[metric],
      relative: relativeTo !== undefined,
      bound:
        max === undefined
          ? { case: 'minThousandths' as const, value: thousandths(min ?? 0) }
          : { case: 'maxThousandths' as const, value: thousandths(max) },
    })),
  };
}

function thousandths(limit: number): bigint {
  return BigInt(Math.round(limit * 1000));
}

function canaryOf({ kind: _, ...canary }: Extract<Settings['rollout'], { kind: 'canary' }>) {
  return canary;
}

/** `healthPath` is the path of a readiness check that the settings leave open. */
export function releaseFields(settings: Settings, healthPath: string) {
  const { livenessCheck, readinessCheck, workers, volumes, privateNetwork, serverPorts } = settings;
  return {
    readinessCheck: {
      ...checkOf(readinessCheck, healthPath),
      intervalMs: readinessIntervalMs,
      timeoutMs: healthCheckTimeoutMs,
    },
    ...(livenessCheck === null
      ? {}
      : {
          livenessCheck: {
            ...checkOf(livenessCheck, ''),
            intervalMs: livenessIntervalMs,
            timeoutMs: healthCheckTimeoutMs,
          },
        }),
    drainTimeoutMs: settings.drainTimeoutMs,
    stopTimeoutMs: settings.stopTimeoutMs,
    memoryBytesMax: BigInt(settings.memoryBytesMax),
    cpuMillisMax: settings.cpuMillisMax,
    processesMax: settings.processesMax,
    workers: workerFields(workers),
    volumes: volumes.map(({ name, path }) => ({ name, path })),
    privateNetwork,
    serverPorts: [...serverPorts],
  } satisfies MessageInitShape<typeof ReleaseSpecSchema>;
}

export function workerFields(workers: Settings['workers']) {
  return workers.map((worker) => ({ ...worker, memoryBytesMax: BigInt(worker.memoryBytesMax) }));
}

function checkOf(check: HealthCheckSettings | null, healthPath: string): { path: string; command: string[] } {
  if (check === null) return { path: healthPath, command: [] };
  return { path: check.kind === 'http' ? check.path : '', command: check.kind === 'command' ? check.command : [] };
}
