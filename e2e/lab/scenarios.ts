// Scenarios of the benchmark lab in their short form, each as a plan that the dashboard and the API take.
import { type BenchmarkPlan, benchmarkPlanSchema } from '@fairlead/core/benchmark';

type PlanInput = Parameters<typeof benchmarkPlanSchema.parse>[0];

export interface LabScenario {
  readonly name: string;
  readonly plan: BenchmarkPlan;
  /** Targets that must have rows. */
  readonly mustMeasure: readonly BenchmarkPlan['targets'][number][];
}

/** Targets of every scenario that compares proxies. Other proxies are measured where they are installed. */
const ALWAYS = ['proxy', 'direct', 'floor', 'nginx', 'haproxy'] as const;

/** Impairment of the link in the scenario packet loss. */
const LOSS_PERCENT = 2;
const LINK_DELAY_MS = 10;

export interface Size {
  readonly repeats: number;
  readonly durationMs: number;
  readonly concurrency: readonly number[];
  /** Protocols of the scenario packet loss. */
  readonly lossProtocols: BenchmarkPlan['protocols'];
}

/** Smallest size that runs every code path, for `npm test`. */
export const SMALL: Size = { repeats: 1, durationMs: 500, concurrency: [8], lossProtocols: ['http1'] };
/** Size of `npm run check:lab`. */
export const SHORT: Size = {
  repeats: 3,
  durationMs: 1000,
  concurrency: [32, 256],
  lossProtocols: ['http1', 'http2', 'http3'],
};

/** Scenarios in front of the lab's own app, an app server or a copy of the measured app. */
export function labScenarios({ repeats, durationMs, concurrency, lossProtocols }: Size): LabScenario[] {
  const scenario = (name: string, plan: object): LabScenario => {
    const common = { upstream: 'lab', targets: ALWAYS, protocols: ['http1'], warmupMs: 200, concurrency: [16] };
    const whole: PlanInput = { ...common, repeats, durationMs, ...plan };
    return { name, plan: benchmarkPlanSchema.parse(whole), mustMeasure: ALWAYS };
  };
  return [
    scenario('concurrency ladder', { concurrency }),
    scenario('protocol matrix', {
      targets: [...ALWAYS, 'envoy', 'caddy', 'traefik', 'h2o'],
      protocols: ['http1', 'http1-cleartext', 'http2', 'http3'],
    }),
    scenario('gRPC calls', {
      targets: [...ALWAYS, 'envoy', 'caddy', 'traefik'],
      protocols: ['grpc'],
      load: { requests: [{ method: 'POST', path: '/bytes/100', body: 'CgVoZWxsbw==' }] },
    }),
    scenario('fresh connections', { connection: 'fresh', protocols: ['http1'] }),
    scenario('burst', { scenario: 'burst', requestsPerSecond: 100 }),
    scenario('slow upstream', { scenario: 'slow-upstream', requestsPerSecond: 100 }),
    scenario('own requests', {
      protocols: ['http1', 'http2'],
      requestsPerSecond: 100,
      load: {
        requests: [
          { path: '/', weight: 3 },
          { method: 'POST', path: '/?order', headers: { 'Content-Type': 'application/json' }, body: '{"count":1}' },
          { method: 'HEAD', path: '/bytes/1000' },
        ],
        stages: [300, 100].map((rate) => ({ durationMs, requestsPerSecond: rate })),
      },
    }),
    scenario('greedy client', { scenario: 'greedy-client', requestsPerSecond: 100 }),
    scenario('latency probes', { scenario: 'latency', concurrency: [1] }),
    scenario('packet loss', {
      scenario: 'packet-loss',
      protocols: lossProtocols,
      link: { lossPercent: LOSS_PERCENT, delayMs: LINK_DELAY_MS },
    }),
    ...appServers(['node-cluster'], [0]).map(([name, labApp]) => scenario(name, appServerPlan(labApp))),
    scenario('copy of the release', { labApp: { server: 'release' }, protocols: ['http1', 'http2'] }),
  ];
}

type LabApp = BenchmarkPlan['labApp'];

/** App servers that the check installs beside Node.js, each with and without a delay. */
export function installedServers(size: Size): LabScenario[] {
  const { repeats, durationMs } = size;
  return appServers(['node-cluster', 'uvicorn', 'puma'], [0, 20]).map(([name, labApp]) => ({
    name,
    plan: benchmarkPlanSchema.parse({ upstream: 'lab', warmupMs: 200, repeats, durationMs, ...appServerPlan(labApp) }),
    mustMeasure: APP_SERVER_TARGETS,
  }));
}

const APP_SERVER_TARGETS = ['proxy', 'direct', 'nginx', 'haproxy'] as const;

function appServerPlan(labApp: LabApp) {
  return { targets: [...APP_SERVER_TARGETS], protocols: ['http1'] as const, concurrency: [16], labApp };
}

function appServers(servers: readonly LabApp['server'][], delaysMs: readonly number[]): [string, LabApp][] {
  return servers.flatMap((server) =>
    delaysMs.map((responseDelayMs): [string, LabApp] => [
      `app server ${server}, ${responseDelayMs} ms`,
      { server, responseDelayMs, responseBytes: 40, errorEvery: 0 },
    ]),
  );
}

/** Scenarios of an app behind its server's proxy. */
export function liveScenarios({ repeats, durationMs }: Size): LabScenario[] {
  const scenario = (name: string, plan: object): LabScenario => {
    const common = {
      targets: ['proxy'],
      protocols: ['http1'],
      concurrency: [16],
      requestsPerSecond: 100,
      warmupMs: 200,
    };
    return {
      name,
      plan: benchmarkPlanSchema.parse({ ...common, repeats, durationMs, ...plan }),
      mustMeasure: ['proxy'],
    };
  };
  return [
    // Long enough for a deployment.
    scenario('deploy under load', { scenario: 'deploy', durationMs: Math.max(durationMs, 8000) }),
    scenario('route change under load', { scenario: 'route-change' }),
    // The app's minimum of instances is 0.
    scenario('wake from zero', { scenario: 'wake', requestsPerSecond: null, concurrency: [1, 8] }),
    scenario('proxy upgrade under load', { scenario: 'proxy-upgrade', durationMs: Math.max(durationMs, 3000) }),
  ];
}
