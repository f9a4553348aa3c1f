// Encoding of a benchmark's plan in desired state.
import { create } from '@bufbuild/protobuf';
import {
  BenchmarkConnection,
  type BenchmarkPlan,
  BenchmarkPlanSchema,
  BenchmarkProtocol,
  BenchmarkScenario,
  BenchmarkServer,
  BenchmarkTarget,
} from '@fairlead/contract/agent';
import type { BenchmarkPlanRow } from './to-desired-state.ts';

const targets = {
  proxy: BenchmarkTarget.PROXY,
  direct: BenchmarkTarget.DIRECT,
  floor: BenchmarkTarget.FLOOR,
  nginx: BenchmarkTarget.NGINX,
  haproxy: BenchmarkTarget.HAPROXY,
  envoy: BenchmarkTarget.ENVOY,
  caddy: BenchmarkTarget.CADDY,
  traefik: BenchmarkTarget.TRAEFIK,
  h2o: BenchmarkTarget.H2O,
  'kamal-proxy': BenchmarkTarget.KAMAL_PROXY,
  spooky: BenchmarkTarget.SPOOKY,
  godoxy: BenchmarkTarget.GODOXY,
} as const;

const protocols = {
  http1: BenchmarkProtocol.HTTP1,
  http2: BenchmarkProtocol.HTTP2,
  http3: BenchmarkProtocol.HTTP3,
  'http1-cleartext': BenchmarkProtocol.HTTP1_CLEARTEXT,
  grpc: BenchmarkProtocol.GRPC,
} as const;

const scenarios = {
  matrix: BenchmarkScenario.UNSPECIFIED,
  burst: BenchmarkScenario.BURST,
  'slow-upstream': BenchmarkScenario.SLOW_UPSTREAM,
  'greedy-client': BenchmarkScenario.GREEDY_CLIENT,
  deploy: BenchmarkScenario.DEPLOY,
  'route-change': BenchmarkScenario.ROUTE_CHANGE,
  'proxy-upgrade': BenchmarkScenario.PROXY_UPGRADE,
  latency: BenchmarkScenario.LATENCY,
  'packet-loss': BenchmarkScenario.PACKET_LOSS,
  wake: BenchmarkScenario.WAKE,
} as const;

const servers = {
  own: BenchmarkServer.UNSPECIFIED,
  'node-cluster': BenchmarkServer.NODE_CLUSTER,
  uvicorn: BenchmarkServer.UVICORN,
  puma: BenchmarkServer.PUMA,
  release: BenchmarkServer.RELEASE,
} as const;

export function benchmarkPlan({ plan, liveReleaseId, part, ...ids }: BenchmarkPlanRow): BenchmarkPlan {
  const { responseBytes, responseDelayMs, errorEvery } = plan.labApp;
  const server = servers[plan.labApp.server];
  const releaseId = plan.labApp.server === 'release' ? (liveReleaseId ?? '') : '';
  const { lossPercent, delayMs } = plan.link;
  return create(BenchmarkPlanSchema, {
    ...ids,
    host: plan.host,
    path: plan.path,
    targets: plan.targets.map((name) => targets[name]),
    protocols: plan.protocols.map((name) => protocols[name]),
    concurrency: [...plan.concurrency],
    repeats: plan.repeats,
    durationMs: plan.durationMs,
    warmupMs: plan.warmupMs,
    ...(plan.upstream === 'lab' ? { lab: { responseBytes, responseDelayMs, errorEvery, server, releaseId } } : {}),
    scenario: scenarios[plan.scenario],
    connection: plan.connection === 'fresh' ? BenchmarkConnection.FRESH : BenchmarkConnection.UNSPECIFIED,
    requestsPerSecond: plan.requestsPerSecond ?? 0,
    requests: plan.load.requests.map(({ headers, ...request }) => ({
      ...request,
      headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    })),
    thinkTimeMs: plan.load.thinkTimeMs,
    stages: plan.load.stages,
    workers: plan.load.workers ?? 0,
    ...(part === undefined ? {} : { part }),
    ...(plan.scenario === 'packet-loss' ? { link: { lossPerMillion: Math.round(lossPercent * 10_000), delayMs } } : {}),
  });
}
