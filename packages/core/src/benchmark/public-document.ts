// Public form of a run's document.
// Invariant: no text of the run reaches it. Every string is a constant of this file, or matches a pattern in which no
// name, host, address or path fits.
import {
  type BenchmarkDocument,
  type BenchmarkDocumentRow,
  type BenchmarkDocumentTarget,
  benchmarkDocumentSchema,
  runScenarios,
  targetLabels,
} from './document.ts';
import { describeLoad, hasOwnLoad, loadMethods } from './load.ts';
import { publicWords } from './public-words.ts';
import { type BenchmarkLoad, benchmarkPhaseSchema, labServerSchema } from './schema.ts';

/** Stands for the app's host. */
export const PUBLIC_HOST = 'app.example';
const HIDDEN = '…';
/** Stands for the methods of gRPC calls. */
const PUBLIC_METHOD = '/package.Service/Method';

const TARGETS = targetLabels;
const SCENARIOS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(runScenarios).map(({ name, description }) => [name, description]),
);
const PROTOCOLS = ['http1', 'http1-cleartext', 'http2', 'http3', 'websocket', 'grpc'];
const PATHS = ['shared-network', 'own-network', 'unix-socket', 'bench-namespace', 'between-servers'];
const PHASES: readonly string[] = benchmarkPhaseSchema.options;
const FAILURES = ['connect', 'tls', 'timeout', 'closed', 'malformed', '3xx', '4xx', '5xx', 'grpc_status'];
const SYSTEMS = ['Debian', 'Ubuntu', 'Fedora', 'Alpine Linux', 'Arch Linux', 'CentOS', 'Rocky Linux', 'AlmaLinux'];
const ARCHITECTURES = ['x64', 'arm64', 'x86_64', 'aarch64'];
const PROCESSORS = ['AMD EPYC', 'AMD Ryzen', 'Intel Xeon', 'Intel Core', 'Ampere Altra', 'Neoverse', 'Apple'];

const VERSION = /^\d{1,4}\.\d{1,4}\.\d{1,4}(?:-(?:alpha|beta|rc)\.\d{1,4})?$/;
/** Two or three numbers; an address has four. */
const KERNEL = /^\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?![\d.])/;
const PEER_VERSION = /(?<![\d.])\d{1,3}\.\d{1,4}(?:\.\d{1,4})?(?![\d.])/;

/** Returns the public document of a run of the product. Its names, release, settings and reasons are left out. */
export function publicDocumentOf(
  document: BenchmarkDocument,
  { isImported = false }: { readonly isImported?: boolean } = {},
): BenchmarkDocument {
  const { plan, facts, state, createdAt, startedAt, finishedAt } = document;
  const targetName = namer(Object.keys(TARGETS), 'target');
  const scenarioName = namer(Object.keys(SCENARIOS), 'scenario');
  const names = { targetName, scenarioName, ...rowNamers() };
  const releases = facts?.endReleaseNumber ?? null;
  const mixesReleases = releases !== null && releases !== facts?.release?.number;
  return benchmarkDocumentSchema.parse({
    format: 'fairlead-benchmark-2',
    title: `Benchmark of ${PUBLIC_HOST}`,
    runId: null,
    ...{ state, createdAt, startedAt, finishedAt },
    command: plan === null ? null : commandOf(plan),
    method: [
      ...(plan === null ? [] : describeLoad(plan)),
      ...(isImported ? ['This run was imported: this installation did not measure it.'] : []),
      ...(mixesReleases ? ['A deployment ended during the run: its rows mix two releases.'] : []),
    ],
    warmupMs: document.warmupMs,
    plan: null,
    facts: facts === null ? null : factsOf(facts),
    scenarios: document.scenarios.map(({ name }) => {
      const known = scenarioName(name);
      return { name: known, description: SCENARIOS[known] ?? 'Custom scenario.' };
    }),
    targets: document.targets.map((target) => targetOf(target, names)),
    baseline: document.baseline === null ? null : targetName(document.baseline),
    notMeasured: document.notMeasured.map(({ target, scenario }) => ({
      target: targetName(target),
      scenario: scenario === null ? null : scenarioName(scenario),
      reason: 'not measured in this run',
    })),
    rows: document.rows.map((row) => rowOf(row, names)),
  });
}

/** Keeps known values and numbers the others, so that rows which differ stay apart. */
function namer(known: readonly string[], noun: string): (value: string) => string {
  const others = new Map<string, string>();
  return (value) => {
    if (known.includes(value)) return value;
    const name = others.get(value) ?? `${noun}-${others.size + 1}`;
    others.set(value, name);
    return name;
  };
}

function rowNamers() {
  return {
    protocolName: namer(PROTOCOLS, 'protocol'),
    pathName: namer(PATHS, 'path'),
    phaseName: namer(PHASES, 'phase'),
  };
}

interface Names extends ReturnType<typeof rowNamers> {
  readonly targetName: (value: string) => string;
  readonly scenarioName: (value: string) => string;
}

function targetOf({ name, kind, version, configuration, networkPath }: BenchmarkDocumentTarget, names: Names) {
  const known = names.targetName(name);
  return {
    name: known,
    label: TARGETS[known] ?? known.replace('target-', 'Target '),
    kind,
    version: PEER_VERSION.exec(version ?? '')?.[0] ?? null,
    configuration: configuration === null ? null : publicConfiguration(configuration),
    networkPath: networkPath === null ? null : names.pathName(networkPath),
  };
}

function rowOf(row: BenchmarkDocumentRow, names: Names): BenchmarkDocumentRow {
  return {
    ...{ position: row.position, round: row.round, connection: row.connection },
    scenario: names.scenarioName(row.scenario),
    target: names.targetName(row.target),
    protocol: names.protocolName(row.protocol),
    phase: row.phase == null ? null : names.phaseName(row.phase),
    probe: row.probe,
    networkPath: row.networkPath === null ? null : names.pathName(row.networkPath),
    ...{ concurrency: row.concurrency, clients: row.clients, durationMs: row.durationMs },
    ...{ requests: row.requests, errors: row.errors, resumed: row.resumed, bytesReceived: row.bytesReceived },
    failures: row.failures == null ? null : publicFailures(row.failures),
    latency: { sumUs: row.latency.sumUs, buckets: row.latency.buckets },
    ...{ proxyCpuUs: row.proxyCpuUs, appCpuUs: row.appCpuUs, generatorCpuUs: row.generatorCpuUs },
    generatorSaturated: row.generatorSaturated,
    noise: row.noise,
    proxyMemoryBytes: row.proxyMemoryBytes,
    proxyMemoryBeforeBytes: row.proxyMemoryBeforeBytes,
    link: row.link,
    appConnections: row.appConnections,
    proxyRssBytes: row.proxyRssBytes,
  };
}

function publicFailures(failures: Readonly<Record<string, number>>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [kind, count] of Object.entries(failures)) {
    const known = FAILURES.includes(kind) ? kind : 'other';
    counts[known] = (counts[known] ?? 0) + count;
  }
  return counts;
}

function factsOf({ machine, agentVersion }: NonNullable<BenchmarkDocument['facts']>) {
  const { os, kernel, arch, cpuCount, memoryBytes, cpuModel } = machine;
  const processor = PROCESSORS.find((name) => cpuModel?.startsWith(name));
  return {
    ...{ release: null, configNumber: null, endReleaseNumber: null },
    agentVersion: agentVersion !== null && VERSION.test(agentVersion) ? agentVersion : null,
    machine: {
      os: systemOf(os),
      kernel: KERNEL.exec(kernel)?.[0] ?? '',
      arch: ARCHITECTURES.find((name) => name === arch) ?? '',
      ...{ cpuCount, memoryBytes },
      ...(processor === undefined ? {} : { cpuModel: processor }),
    },
  };
}

/** Name of a known distribution with its version number. */
function systemOf(os: string): string {
  const name = SYSTEMS.find((each) => os.startsWith(each));
  if (name === undefined) return 'Linux';
  const version = /(?:^|\s)(\d{1,3}(?:\.\d{1,2})?)(?=\s|$)/.exec(os)?.[1];
  return version === undefined ? name : `${name} ${version}`;
}

/** Command that measures the same load on another app. It has numbers and names of this file only. */
function commandOf(plan: NonNullable<BenchmarkDocument['plan']>): string {
  const isGrpc = plan.protocols.includes('grpc');
  const hasPath = isGrpc && plan.upstream === 'live' && plan.load.requests.length === 0;
  const numbers = {
    ...(hasPath ? { path: PUBLIC_METHOD } : {}),
    targets: plan.targets.filter((target) => target in TARGETS),
    protocols: plan.protocols.filter((protocol) => PROTOCOLS.includes(protocol)),
    ...{ concurrency: plan.concurrency, repeats: plan.repeats },
    ...{ durationMs: plan.durationMs, warmupMs: plan.warmupMs, requestsPerSecond: plan.requestsPerSecond },
    upstream: plan.upstream === 'lab' ? 'lab' : 'live',
    scenario: Object.keys(runScenarios).find((scenario) => scenario === plan.scenario) ?? 'matrix',
    connection: plan.connection === 'fresh' ? 'fresh' : 'reused',
    labApp: {
      responseBytes: plan.labApp.responseBytes,
      responseDelayMs: plan.labApp.responseDelayMs,
      errorEvery: plan.labApp.errorEvery,
      server: labServerSchema.options.find((server) => server === plan.labApp.server),
    },
    ...(hasOwnLoad(plan.load) ? { load: publicLoad(plan.load, isGrpc ? PUBLIC_METHOD : '/') } : {}),
    link: { lossPercent: plan.link.lossPercent, delayMs: plan.link.delayMs },
  };
  return [
    'curl -H "Authorization: Bearer $FAIRLEAD_TOKEN" -H "Content-Type: application/json" \\',
    `  -d '${JSON.stringify({ appId: 'app_…', plan: numbers })}' \\`,
    '  "$FAIRLEAD_URL/api/v1/benchmark/create"',
  ].join('\n');
}

/** Load of other paths: methods, weights and times only. */
function publicLoad({ requests, thinkTimeMs, stages, workers }: BenchmarkLoad, path: string): object {
  return {
    requests: requests.map(({ method, weight }) => ({
      method: loadMethods.find((each) => each === method) ?? 'GET',
      path,
      weight,
    })),
    thinkTimeMs,
    stages: stages.map(({ durationMs, requestsPerSecond }) => ({ durationMs, requestsPerSecond })),
    ...(workers === undefined ? {} : { workers }),
  };
}

/** Configuration in which only directives of known proxies, short numbers and punctuation are left. */
export function publicConfiguration(text: string): string {
  return text
    .replaceAll(/[^\t\n\x20-\x7e]+/g, HIDDEN)
    .replaceAll(/[\w.:]*[.:][\w.:]*[.:][\w.:]*/g, HIDDEN)
    .replaceAll(/\w[\w-]*/g, (word) => (publicWords.has(word) || /^\d{1,6}[kms]?$/i.test(word) ? word : HIDDEN))
    .replaceAll(/…(?:[^\s\w{}()[\];,"']*…)+/g, HIDDEN);
}
