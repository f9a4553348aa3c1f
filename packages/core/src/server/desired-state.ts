// Owns what a server should do, as the message that is signed and sent: pure, from rows.
// An agent refuses the whole state for one wrong field, so only values that were checked when stored may get here.
import { create } from '@bufbuild/protobuf';
import {
  type AppSpec,
  AppSpecSchema,
  BenchmarkProtocol,
  BenchmarkSpecSchema,
  BenchmarkTarget,
  BuildSpecSchema,
  type DesiredState,
  DesiredStateSchema,
  type ReleaseSpec,
  ReleaseSpecSchema,
  type RouteSpec,
  RouteSpecSchema,
} from '@fairlead/contract/agent';
import { isAtOrBelow } from '../kernel/index.ts';
import type { StoredPlan } from './schema.ts';

const buildTimeoutMs = 15 * 60_000;
const healthTimeoutMs = 60_000;
const drainTimeoutMs = 30_000;
const stopGraceMs = 10_000;

export interface ReleaseRow {
  readonly id: string;
  readonly number: number;
  readonly artifactDigest: string;
  readonly command: readonly string[];
  readonly healthPath: string;
  /** Encrypted to the server; null for a release without secrets. */
  readonly secrets: { readonly sealed: Uint8Array; readonly version: string } | null;
}

export interface PlacementRow {
  readonly appId: string;
  readonly environmentId: string;
  readonly appName: string;
  readonly instances: number;
  readonly live: ReleaseRow | null;
  readonly candidate: { readonly deploymentId: string; readonly release: ReleaseRow } | null;
  readonly hosts: readonly string[];
}

export interface BuildRow {
  readonly deploymentId: string;
  readonly appId: string;
  readonly repositoryUrl: string;
  readonly ref: string;
  readonly rootFolder: string;
}

export interface BenchmarkPlanRow {
  readonly runId: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly plan: StoredPlan;
}

export interface ControlRoute {
  readonly host: string;
  readonly pathPrefix: string;
  /** IP address and port on that server. */
  readonly address: string;
}

export interface DesiredRows {
  readonly serverId: string;
  readonly epoch: number;
  readonly number: bigint;
  readonly placements: readonly PlacementRow[];
  readonly builds: readonly BuildRow[];
  readonly benchmarks: readonly BenchmarkPlanRow[];
  readonly controlRoutes: readonly ControlRoute[];
}

const benchmarkProtocols = {
  http1: BenchmarkProtocol.HTTP1,
  http2: BenchmarkProtocol.HTTP2,
  http3: BenchmarkProtocol.HTTP3,
} as const;

export function toDesiredState(rows: DesiredRows): DesiredState {
  const apps = rows.placements.filter(({ live, candidate }) => live !== null || candidate !== null);
  // A host may lead to one place only, and no app may stand in the way to the control plane.
  const reserved = rows.controlRoutes.map(({ host }) => host);
  const routes = [
    ...apps.flatMap(appRoutes).filter(({ host }) => !reserved.some((above) => isAtOrBelow(host, above))),
    ...rows.controlRoutes.map(controlRoute),
  ];
  const requires = [
    ...(apps.length > 0 ? ['app'] : []),
    ...(routes.length > 0 ? ['route'] : []),
    ...(apps.some(({ live, candidate }) => live?.secrets || candidate?.release.secrets) ? ['secret'] : []),
    ...(rows.builds.length > 0 ? ['build'] : []),
    ...(rows.benchmarks.length > 0 ? ['benchmark'] : []),
    ...(rows.benchmarks.some(({ plan }) => plan.protocols.includes('http3')) ? ['benchmark.http3'] : []),
  ];
  return create(DesiredStateSchema, {
    version: { epoch: rows.epoch, number: rows.number },
    serverId: rows.serverId,
    requires,
    apps: apps.map(appSpec),
    routes,
    builds: rows.builds.map((build) => create(BuildSpecSchema, { ...build, timeoutMs: buildTimeoutMs })),
    benchmarks: rows.benchmarks.map(({ plan, ...ids }) =>
      create(BenchmarkSpecSchema, {
        ...ids,
        host: plan.host,
        path: plan.path,
        targets: plan.targets.map((name) => (name === 'proxy' ? BenchmarkTarget.PROXY : BenchmarkTarget.DIRECT)),
        protocols: plan.protocols.map((name) => benchmarkProtocols[name]),
        concurrency: [...plan.concurrency],
        repeats: plan.repeats,
        durationMs: plan.durationMs,
        warmupMs: plan.warmupMs,
      }),
    ),
  });
}

function appSpec(row: PlacementRow): AppSpec {
  return create(AppSpecSchema, {
    appId: row.appId,
    environmentId: row.environmentId,
    name: row.appName,
    instances: row.instances,
    ...(row.live === null ? {} : { live: releaseSpec(row.live) }),
    ...(row.candidate === null
      ? {}
      : {
          candidate: {
            deploymentId: row.candidate.deploymentId,
            release: releaseSpec(row.candidate.release),
            healthTimeoutMs,
          },
        }),
  });
}

function releaseSpec(row: ReleaseRow): ReleaseSpec {
  return create(ReleaseSpecSchema, {
    releaseId: row.id,
    number: BigInt(row.number),
    artifactDigest: row.artifactDigest,
    command: [...row.command],
    environment: { NODE_ENV: 'production' },
    health: { path: row.healthPath, intervalMs: 500, timeoutMs: 2000 },
    drainTimeoutMs,
    stopGraceMs,
    ...(row.secrets === null ? {} : { secrets: row.secrets }),
  });
}

function appRoutes(row: PlacementRow): RouteSpec[] {
  return row.hosts.map((host) =>
    create(RouteSpecSchema, {
      host,
      pathPrefix: '/',
      target: { case: 'app', value: { appId: row.appId, environmentId: row.environmentId } },
    }),
  );
}

function controlRoute({ host, pathPrefix, address }: ControlRoute): RouteSpec {
  return create(RouteSpecSchema, { host, pathPrefix, target: { case: 'address', value: address } });
}
