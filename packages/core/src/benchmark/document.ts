// Document of a benchmark run, from the product or a script: everything that was measured, to keep, to share and to draw
// again. Its JSON Schema is docs/benchmarks/run.schema.json. A change that older readers can't follow gets another `format`.
import { runIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { LOAD_SERVERS_MAX } from './distribution.ts';
import { describeLoad } from './load.ts';
import {
  type BenchmarkProgram,
  type BenchmarkScenarioName,
  benchmarkFactsSchema,
  benchmarkOutcomeSchema,
  benchmarkProbeSchema,
  benchmarkStateSchema,
  linkReportSchema,
  machineNoiseSchema,
  rowPartSchema,
  storedPlanSchema,
  thresholdResultSchema,
} from './schema.ts';

const ROWS_MAX = 20_000;
const BUCKETS_MAX = 1000;
const TARGETS_MAX = 50;
const CONFIGURATION_MAX = 100_000;

const count = z.number().int().min(0);
const name = z.string().min(1).max(80);
const sentence = z.string().max(500);

const latencySchema = z
  .object({
    sumUs: count.describe('Sum of all latencies in microseconds.'),
    buckets: z
      .array(z.tuple([count, count, count]))
      .max(BUCKETS_MAX)
      .describe(
        '[lowest latency, lowest latency above the bucket, requests], in microseconds, ascending. Empty buckets are left out.',
      ),
  })
  .describe('Latencies of successful requests. Histograms of several rows may be added up bucket by bucket.');

const connectionSchema = z.enum(['reused', 'fresh', 'resumed', 'idle']);

const rowSchema = z.object({
  position: count.describe('Position in the run, from 0, in the order of measurement.'),
  round: count.describe('Round, from 0. Each round measures every combination once.'),
  scenario: name.describe('Name of an entry of `scenarios`.'),
  target: name.describe('Name of an entry of `targets`.'),
  protocol: name.describe('http1, http2, http3 or another protocol.'),
  connection: connectionSchema
    .default('reused')
    .describe('reused: kept open; fresh: one for each request; resumed: the same with a TLS ticket; idle: silent.'),
  phase: name
    .nullish()
    .describe('Part of a scenario: `before`, `during` or `after` its event, or `stage-1` and so on of its plan.'),
  probe: benchmarkProbeSchema.nullish().describe('What the latency counts; null: a plain request.'),
  networkPath: name.nullable().describe('Path to the app. Rows of different network paths are not comparable.'),
  concurrency: count.describe('Concurrent clients.'),
  clients: count.nullish().describe('Clients that received a response.'),
  durationMs: count.describe('Measured time.'),
  requests: count.describe('Responses with a status from 200 to 299.'),
  errors: count.describe('Other responses and failed requests.'),
  failures: z.record(name, count).nullish().describe('Errors by kind. The sum is `errors`.'),
  latency: latencySchema,
  proxyCpuUs: count.nullable().describe('CPU time of the proxy in microseconds; null without a proxy.'),
  appCpuUs: count.nullish().describe('CPU time of the app in microseconds.'),
  generatorCpuUs: count.nullish().describe('CPU time of the load generator in microseconds.'),
  generatorSaturated: z.boolean().nullish().describe('True if the load generator limited the result.'),
  proxyMemoryBytes: count.nullable().describe('Proportional set size of the proxy at the end; null without a proxy.'),
  proxyMemoryBeforeBytes: count.nullish().describe('Proportional set size of the proxy before the first client.'),
  proxyRssBytes: count.nullish().describe('Resident set size of the proxy at the end.'),
  resumed: count.nullish().describe('TLS handshakes that a ticket shortened.'),
  bytesReceived: count.nullish().describe('Bytes of response bodies.'),
  noise: machineNoiseSchema.nullish().describe('Load of the machine beside the measurement.'),
  link: linkReportSchema
    .nullish()
    .describe('Emulated link between clients and proxies, with the packets that it and the kernel counted.'),
  appConnections: count.nullish().describe("Connections to the lab's app at the end."),
  parts: z
    .array(rowPartSchema.extend({ latency: latencySchema }))
    .max(LOAD_SERVERS_MAX + 1)
    .nullish()
    .describe(
      'Parts of the servers in a distributed run: the server of the app (`measure`) and the load servers (`load`).',
    ),
});

const targetSchema = z.object({
  name,
  label: name.describe('Name for people.'),
  kind: z
    .enum(['proxy', 'direct', 'floor', 'peer'])
    .describe("proxy: Fairlead's; direct: the app itself; floor: a proxy without logic; peer: another proxy."),
  version: z.string().max(200).nullable(),
  configuration: z.string().max(CONFIGURATION_MAX).nullable().describe('Text of its configuration files.'),
  networkPath: name.nullable().describe('Path to the app; null if its rows differ or do not say.'),
});

/** As in the product, but a script measures no release. */
const factsSchema = benchmarkFactsSchema.extend({
  agentVersion: benchmarkFactsSchema.shape.agentVersion.nullable(),
  machine: benchmarkFactsSchema.shape.machine.extend({ cpuModel: z.string().max(200).optional() }),
});

export const benchmarkDocumentSchema = z.object({
  format: z.literal('fairlead-benchmark-2'),
  title: z.string().min(1).max(400),
  runId: runIdSchema.nullable().describe('Null: not a run of the product.'),
  state: benchmarkStateSchema,
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  finishedAt: z.iso.datetime().nullable(),
  command: z.string().max(4000).nullable().describe('Command that measures this again.'),
  method: z.array(sentence).max(50).describe('What a reader has to know about the measurement.'),
  warmupMs: count.nullable().describe('Time of load before each measurement.'),
  plan: storedPlanSchema
    .nullable()
    .describe('Plan of a run of the product, without queries, values of headers and bodies.'),
  facts: factsSchema.nullable().describe('What was measured: release, agent and machine.'),
  scenarios: z.array(z.object({ name, description: sentence })).max(100),
  targets: z.array(targetSchema).max(TARGETS_MAX),
  baseline: name.nullable().describe('Target that ratios compare with; null: the direct one.'),
  notMeasured: z
    .array(z.object({ target: name, scenario: name.nullable(), reason: sentence }))
    .max(500)
    .describe('Targets without rows, in one scenario or in all.'),
  outcome: benchmarkOutcomeSchema.default('none').describe('Outcome of the thresholds of the plan.'),
  thresholds: z
    .array(thresholdResultSchema)
    .max(20)
    .default([])
    .describe('Results of the thresholds of the plan, in its order.'),
  rows: z.array(rowSchema).max(ROWS_MAX),
});
export type BenchmarkDocument = z.infer<typeof benchmarkDocumentSchema>;
export type BenchmarkDocumentRow = BenchmarkDocument['rows'][number];
export type BenchmarkDocumentTarget = BenchmarkDocument['targets'][number];

/** Scenario of a run of the product: the same load at each concurrency. */
export const LADDER = { name: 'ladder', description: 'Concurrency ladder: the same requests at each concurrency.' };

/** Scenarios of runs of the product. */
export const runScenarios = {
  matrix: LADDER,
  burst: { name: 'burst', description: 'Ten times the requests per second for one phase.' },
  'slow-upstream': { name: 'slow upstream', description: 'As many clients again wait for slow responses.' },
  'greedy-client': { name: 'greedy client', description: 'Eight clients download large responses beside the others.' },
  deploy: { name: 'deploy under load', description: 'The live release is deployed again while requests arrive.' },
  'route-change': {
    name: 'route changes under load',
    description: 'The proxy gets another route table ten times a second while requests arrive.',
  },
  'proxy-upgrade': {
    name: 'proxy upgrade under load',
    description: 'A new proxy process takes over while requests arrive.',
  },
  latency: {
    name: 'latency probes',
    description: 'JSON, upload, stream, server-sent events and WebSocket messages at low load.',
  },
  'packet-loss': {
    name: 'packet loss',
    description: 'An emulated link between clients and proxies loses and delays packets for one phase.',
  },
  wake: { name: 'wake from zero', description: 'The first request of each client wakes the app, which sleeps.' },
} as const satisfies Record<BenchmarkScenarioName, { readonly name: string; readonly description: string }>;

const oldDocumentSchema = z.object({
  format: z.literal('fairlead-benchmark-1'),
  ...benchmarkDocumentSchema.pick({ state: true, createdAt: true, startedAt: true, finishedAt: true }).shape,
  runId: runIdSchema,
  plan: storedPlanSchema,
  facts: benchmarkFactsSchema.nullable(),
  rows: z.array(
    rowSchema.omit({ scenario: true }).extend({ proxyCpuUs: count, proxyMemoryBytes: count, bytesReceived: count }),
  ),
});

const anyDocumentSchema = z.discriminatedUnion('format', [benchmarkDocumentSchema, oldDocumentSchema]);

/** Reads a document of any format, for import and for reports; throws a ZodError for anything else. */
export function readBenchmarkDocument(value: unknown): BenchmarkDocument {
  const document = anyDocumentSchema.parse(value);
  if (document.format === 'fairlead-benchmark-2') return document;
  const { plan, facts, rows } = document;
  return {
    ...document,
    format: 'fairlead-benchmark-2',
    outcome: 'none',
    thresholds: [],
    ...describeRun(plan, facts, rows),
    rows: rows.map((row) => ({ ...row, scenario: LADDER.name, ...proxyFigures(row) })),
  };
}

type ProductFacts = z.infer<typeof benchmarkFactsSchema> | null;
type Described = Pick<
  BenchmarkDocument,
  'title' | 'command' | 'method' | 'warmupMs' | 'scenarios' | 'targets' | 'baseline' | 'notMeasured'
>;

const KINDS: Readonly<Record<string, BenchmarkDocumentTarget['kind']>> = {
  proxy: 'proxy',
  direct: 'direct',
  floor: 'floor',
};
/** Names of targets in reports. */
export const targetLabels: Readonly<Record<string, string>> = {
  proxy: 'Fairlead',
  direct: 'Direct',
  floor: 'Floor',
  fairlead: 'Fairlead',
  nginx: 'nginx',
  haproxy: 'HAProxy',
  envoy: 'Envoy',
  caddy: 'Caddy',
  traefik: 'Traefik',
  h2o: 'h2o',
  'kamal-proxy': 'kamal-proxy',
  spooky: 'Spooky',
  godoxy: 'GoDoxy',
};

/** Returns the parts of a document that a run of the product has no column for. */
export function describeRun(
  plan: z.infer<typeof storedPlanSchema>,
  facts: ProductFacts,
  rows: readonly { readonly target: string; readonly networkPath: string | null }[],
  programs: readonly BenchmarkProgram[] = [],
): Described {
  const programOf = (target: string) => programs.find((program) => program.target === target);
  const isMeasured = (target: string) => rows.some((row) => row.target === target);
  const pathsOf = (target: string) =>
    new Set(rows.filter((row) => row.target === target).map((row) => row.networkPath));
  return {
    title: `Benchmark of ${plan.host}${plan.path}`,
    command: null,
    method: describeLoad(plan),
    warmupMs: plan.warmupMs,
    scenarios: [runScenarios[plan.scenario]],
    targets: [...new Set([...plan.targets, ...rows.map(({ target }) => target)])].map((target) => {
      const paths = [...pathsOf(target)];
      return {
        name: target,
        label: targetLabels[target] ?? target,
        kind: KINDS[target] ?? 'peer',
        version: programOf(target)?.version || (target === 'proxy' ? (facts?.agentVersion ?? null) : null),
        configuration: programOf(target)?.configuration || null,
        networkPath: paths.length === 1 ? (paths[0] ?? null) : null,
      };
    }),
    baseline: plan.upstream === 'lab' && isMeasured('nginx') ? 'nginx' : null,
    notMeasured: programs.flatMap(({ target, skipped }) =>
      skipped === null ? [] : [{ target, scenario: null, reason: skipped }],
    ),
  };
}

/** The product stores 0 for what a direct row does not have. */
export function proxyFigures({ proxyCpuUs, proxyMemoryBytes }: { proxyCpuUs: number; proxyMemoryBytes: number }) {
  return {
    proxyCpuUs: proxyCpuUs === 0 ? null : proxyCpuUs,
    proxyMemoryBytes: proxyMemoryBytes === 0 ? null : proxyMemoryBytes,
  };
}
