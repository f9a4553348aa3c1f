// Arithmetic and rules of a plan: its rows, its time limit and what it can't combine. Pure; the browser uses it too, so it
// imports no schema.
import { copiesRelease, isRedactedBody, loadFaults, pathsOf, plainLoad } from './load.ts';
import type { BenchmarkPlan, BenchmarkProtocolName, BenchmarkScenarioName, BenchmarkTargetName } from './schema.ts';

/** Fields of a plan that measures an app's plain matrix, in the order of the schema, on which the hash of an import depends. */
export const plainPlan = {
  upstream: 'live',
  scenario: 'matrix',
  connection: 'reused',
  requestsPerSecond: null,
  labApp: { responseBytes: 13, responseDelayMs: 0, errorEvery: 0, server: 'own' },
  load: plainLoad,
  link: { lossPercent: 1, delayMs: 20 },
} as const;

/** Most rows of a run: one report of the agent carries all of them. */
export const ROWS_MAX = 400;
/** Most bytes of responses that all clients of the lab wait for at once: the app and the proxies hold them in memory. */
const LAB_BYTES_MAX = 256 * 1024 * 1024;
/** Longest load of a run. */
const LOAD_MS_MAX = 4 * 3_600_000;
/** Most clients of an app. More would measure its server, not the app: the lab is for that. */
export const LIVE_CONCURRENCY_MAX = 1024;

/** Longest start of a copy of a release; the agent has the same limit. */
const COPY_START_MS = 120_000;

/** Scenarios that need the lab's app. Those of `LIVE_SCENARIOS` need an app behind its server's proxy. */
const LAB_SCENARIOS: readonly BenchmarkScenarioName[] = ['slow-upstream', 'greedy-client', 'latency', 'packet-loss'];
/** Scenarios that act on the app or the whole server. They need more than the right to benchmark, and have no schedule. */
export const LIVE_SCENARIOS: readonly BenchmarkScenarioName[] = ['deploy', 'route-change', 'proxy-upgrade', 'wake'];
/** Scenarios without a rate: a closed loop, or one request for each client. */
const CLOSED_SCENARIOS: readonly BenchmarkScenarioName[] = ['matrix', 'latency', 'packet-loss', 'wake'];

/** Probes of the scenario `latency`, in the order of measurement. The agent has the same list. */
export const PROBES = ['json', 'upload', 'stream-first-byte', 'stream', 'sse', 'websocket'] as const;
/** Most clients of a latency probe: more would measure their queue. */
const PROBE_CONCURRENCY_MAX = 64;

/** Targets, in the order of the lab. All but `proxy` and `direct` are for the lab only. */
export const TARGETS = [
  'proxy',
  'direct',
  'floor',
  'nginx',
  'haproxy',
  'envoy',
  'caddy',
  'traefik',
  'h2o',
  'kamal-proxy',
  'spooky',
  'godoxy',
] as const;
/** Programs that answer in the lab. `own` is Fairlead's small app, and `release` a copy of the measured app's live release. */
export const LAB_SERVERS = ['own', 'node-cluster', 'uvicorn', 'puma', 'release'] as const;

const HTTP3_TARGETS: readonly BenchmarkTargetName[] = [
  'proxy',
  'envoy',
  'caddy',
  'traefik',
  'kamal-proxy',
  'spooky',
  'godoxy',
];

/** Proxies of the lab that forward no gRPC to an app without TLS. */
const WITHOUT_GRPC: readonly BenchmarkTargetName[] = ['h2o', 'kamal-proxy', 'spooky'];
/** Service and method, below a path prefix if there is one. */
const GRPC_PATH = /^(?:\/[^/?#]+){2,}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

/**
 * True if a target can be measured with a protocol. Apps speak HTTP/1.1, or HTTP/2 in a plan of gRPC. The agent has the same
 * table.
 */
export function speaks(target: BenchmarkTargetName, protocol: BenchmarkProtocolName): boolean {
  if (protocol === 'grpc') return !WITHOUT_GRPC.includes(target);
  if (protocol === 'http2') return target !== 'direct' && target !== 'floor';
  if (protocol === 'http1-cleartext') return target !== 'spooky';
  return protocol !== 'http3' || HTTP3_TARGETS.includes(target);
}

export function rowsOf(plan: BenchmarkPlan): number {
  const pairs = plan.targets.flatMap((target) => plan.protocols.filter((protocol) => speaks(target, protocol)));
  return pairs.length * partsOf(plan) * plan.concurrency.length * plan.repeats;
}

/** Returns the number of rows of each combination: stages, probes, or phases around an event. */
function partsOf({ scenario, load }: BenchmarkPlan): number {
  if (load.stages.length > 0) return load.stages.length;
  if (scenario === 'latency') return PROBES.length;
  return scenario === 'matrix' || scenario === 'wake' ? 1 : 3;
}

/** Warm-up and measured time of all rows. */
export function loadMs(plan: BenchmarkPlan): number {
  const { stages } = plan.load;
  const rows = rowsOf(plan);
  if (stages.length === 0) return rows * (plan.durationMs + plan.warmupMs);
  const stagesMs = stages.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return rows * plan.warmupMs + (rows / stages.length) * stagesMs;
}

/**
 * Allows each row twice its planned time, for starting, ramping and reporting. Each program of the lab may take 20 s to
 * start. The rest is for benchmark gates of deployments, which go between two rows.
 */
export function timeLimitMs(plan: BenchmarkPlan): number {
  const programsMs = plan.upstream === 'lab' ? 25_000 * plan.targets.length : 0;
  const copyMs = copiesRelease(plan) ? COPY_START_MS : 0;
  // A sleeping app drains and stops first, and then starts.
  const sleepMs = plan.scenario === 'wake' ? 90_000 * rowsOf(plan) : 0;
  return 5 * 60_000 + programsMs + copyMs + sleepMs + 2 * loadMs(plan);
}

export interface PlanFault {
  readonly field:
    | 'path'
    | 'labApp'
    | 'link'
    | 'targets'
    | 'protocols'
    | 'concurrency'
    | 'scenario'
    | 'connection'
    | 'requestsPerSecond'
    | 'repeats'
    | 'load';
  readonly message: string;
}

/** Returns the combinations of a plan that can't be measured. */
export function planFaults(plan: BenchmarkPlan): PlanFault[] {
  const faults: PlanFault[] = [];
  const fault = (field: PlanFault['field'], message: string) => faults.push({ field, message });
  const { targets, protocols, scenario, upstream } = plan;
  const isGrpc = protocols.includes('grpc');
  if (rowsOf(plan) === 0 && !isGrpc) {
    fault('protocols', 'Apps speak HTTP/1.1: measure HTTP/2 through the proxy, or choose HTTP/1.1.');
  }
  if (rowsOf(plan) > ROWS_MAX) {
    fault(
      'repeats',
      `The plan has ${rowsOf(plan)} rows, and a run has at most ${ROWS_MAX}. Choose fewer combinations.`,
    );
  }
  for (const message of loadFaults(plan)) fault('load', message);
  if (loadMs(plan) > LOAD_MS_MAX) fault('load', 'The stages of all rows take longer than 4 hours.');
  if (upstream === 'live') {
    if (targets.some((target) => target !== 'proxy' && target !== 'direct')) {
      fault(
        'targets',
        'Other proxies run in the lab only. Choose the upstream Lab, or the targets Fairlead and Direct.',
      );
    }
    if (protocols.includes('http1-cleartext')) fault('protocols', 'HTTP without TLS is measured in the lab only.');
    if (plan.concurrency.some((clients) => clients > LIVE_CONCURRENCY_MAX)) {
      fault('concurrency', `An app is measured with at most ${LIVE_CONCURRENCY_MAX} clients. Choose the lab for more.`);
    }
    if (LAB_SCENARIOS.includes(scenario)) fault('scenario', 'This scenario runs in the lab only.');
  } else {
    if (LIVE_SCENARIOS.includes(scenario)) {
      fault('scenario', 'This scenario needs an app: it does not run in the lab.');
    }
    if (plan.labApp.server !== 'own' && (scenario !== 'matrix' || plan.labApp.errorEvery > 0)) {
      fault('labApp', 'An app server other than the lab’s own runs the matrix only, without errors.');
    }
    if (copiesRelease(plan)) {
      if (plan.labApp.responseDelayMs > 0) {
        fault('labApp', 'A copy of the release has no response delay of its own: set it to 0.');
      }
      if (plan.concurrency.some((clients) => clients > LIVE_CONCURRENCY_MAX)) {
        fault('concurrency', `A copy of the release is measured with at most ${LIVE_CONCURRENCY_MAX} clients.`);
      }
    } else if (plan.path !== '/') fault('path', 'The lab measures the path /. Add requests for other ones.');
    if (Math.max(...plan.concurrency) * plan.labApp.responseBytes > LAB_BYTES_MAX) {
      fault('labApp', 'All clients together wait for more than 256 MiB. Choose fewer clients or smaller responses.');
    }
  }
  if (LIVE_SCENARIOS.includes(scenario) && targets.some((target) => target !== 'proxy')) {
    fault('targets', 'This scenario measures the app through the proxy only.');
  }
  const isHttp1 = protocols.every((protocol) => protocol === 'http1' || protocol === 'http1-cleartext');
  if (scenario === 'latency') {
    if (!isHttp1) fault('protocols', 'Latency probes are measured over HTTP/1.1.');
    if (plan.requestsPerSecond !== null) fault('requestsPerSecond', 'Latency probes have no rate of requests.');
    if (plan.concurrency.some((clients) => clients > PROBE_CONCURRENCY_MAX)) {
      fault('concurrency', `Latency probes have at most ${PROBE_CONCURRENCY_MAX} clients.`);
    }
  }
  if (scenario !== 'matrix') {
    const isClosed = CLOSED_SCENARIOS.includes(scenario);
    if (plan.requestsPerSecond === null && !isClosed) {
      fault('requestsPerSecond', 'This scenario needs requests per second.');
    }
    if (plan.connection === 'fresh') fault('connection', 'This scenario is measured over reused connections.');
  }
  if (scenario === 'wake') {
    if (plan.requestsPerSecond !== null)
      fault('requestsPerSecond', 'Each client sends one request when the app sleeps.');
    if (!isHttp1) fault('protocols', 'A wake is measured over HTTP/1.1 only.');
  }
  if (scenario === 'packet-loss' && plan.link.lossPercent === 0 && plan.link.delayMs === 0) {
    fault('link', 'A link without loss and delay is no scenario. Choose one of them.');
  }
  if (plan.connection === 'fresh') {
    if (!isHttp1) fault('connection', 'Fresh connections are measured over HTTP/1.1 only.');
    if (plan.requestsPerSecond !== null) fault('connection', 'Fresh connections are measured in a closed loop only.');
  }
  return isGrpc ? [...faults, ...grpcFaults(plan)] : faults;
}

function grpcFaults(plan: BenchmarkPlan): PlanFault[] {
  const { targets, protocols, upstream, labApp, load } = plan;
  // The lab's app answers at the path / too.
  const paths = upstream === 'lab' && load.requests.length === 0 ? [] : pathsOf(plan);
  const isMessage = (body: string) => isRedactedBody(body) || BASE64.test(body);
  const rules: readonly (readonly [isFault: boolean, field: PlanFault['field'], message: string])[] = [
    [protocols.length > 1, 'protocols', 'gRPC is measured by itself: choose no other protocol.'],
    [
      targets.some((target) => !speaks(target, 'grpc')),
      'targets',
      'h2o, kamal-proxy and Spooky can’t be measured over gRPC: leave them out.',
    ],
    [upstream === 'lab' && labApp.server !== 'own', 'labApp', 'Only the lab’s own app speaks gRPC.'],
    [
      !paths.every((path) => GRPC_PATH.test(path)),
      load.requests.length === 0 ? 'path' : 'load',
      'A gRPC path names a service and a method, such as /shop.Cart/Get.',
    ],
    [load.requests.some(({ method }) => method !== 'POST'), 'load', 'gRPC calls are POST requests.'],
    [!load.requests.every(({ body }) => isMessage(body)), 'load', 'The message of a gRPC call is in base64.'],
  ];
  return rules.filter(([isFault]) => isFault).map(([, field, message]) => ({ field, message }));
}
