// Schemas of benchmark plans, runs and rows, stored and in the API.

import {
  appIdSchema,
  benchmarkPlanIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
  releaseIdSchema,
  reportIdSchema,
  runIdSchema,
  serverIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { countedPageSchema, pageInputSchema, searchSchema } from '../kernel/page.ts';
import { nameSchema } from '../kernel/text.ts';
import { distributionFaults, LOAD_SERVERS_MAX } from './distribution.ts';
import { headerFault, loadMethods, PATH_CHARS_MAX, plainLoad, WORKERS_MAX } from './load.ts';
import { LAB_SERVERS, LIVE_SCENARIOS, PROBES, plainPlan, planFaults, TARGETS } from './plan.ts';

export const benchmarkTargetSchema = z.enum(TARGETS);
/** `http1-cleartext` is for the lab only. `grpc`, unary calls over HTTP/2, can't be combined with others. */
export const benchmarkProtocolSchema = z.enum(['http1', 'http2', 'http3', 'http1-cleartext', 'grpc']);
/** Event while the load runs. Scenarios with an event are measured before, during and after it. */
export const benchmarkScenarioSchema = z.enum([
  'matrix',
  'burst',
  'slow-upstream',
  'greedy-client',
  'deploy',
  'route-change',
  'proxy-upgrade',
  'latency',
  'packet-loss',
  'wake',
]);
/** Request or message of a latency probe, and the part of it that latency counts. */
export const benchmarkProbeSchema = z.enum(PROBES);
/** Part of a scenario around its event, or a stage of a plan. */
export const benchmarkPhaseSchema = z.enum([
  'before',
  'during',
  'after',
  'stage-1',
  'stage-2',
  'stage-3',
  'stage-4',
  'stage-5',
  'stage-6',
  'stage-7',
  'stage-8',
  'stage-9',
  'stage-10',
]);
export const labServerSchema = z.enum(LAB_SERVERS);
export type LabServerName = z.infer<typeof labServerSchema>;
/**
 * Network path of connections to the app, those of the proxy and direct ones alike. With `between-servers`, clients on other
 * servers reach the proxy over the network. Rows of different paths are never compared.
 */
export const networkPathSchema = z.enum([
  'shared-network',
  'own-network',
  'unix-socket',
  'bench-namespace',
  'between-servers',
]);
export const benchmarkStateSchema = z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']);
export type BenchmarkScenarioName = z.infer<typeof benchmarkScenarioSchema>;
/** Starter of a run: a person, or the schedule of a saved plan. */
export const benchmarkTriggerSchema = z.enum(['manual', 'schedule']);
export type BenchmarkTrigger = z.infer<typeof benchmarkTriggerSchema>;
export type BenchmarkTargetName = z.infer<typeof benchmarkTargetSchema>;
export type BenchmarkProtocolName = z.infer<typeof benchmarkProtocolSchema>;
export type NetworkPathName = z.infer<typeof networkPathSchema>;
export type BenchmarkState = z.infer<typeof benchmarkStateSchema>;

export { LIVE_SCENARIOS, plainPlan };

const unique = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

export const thresholdMetrics = [
  'requests_per_second',
  'p50_ms',
  'p90_ms',
  'p99_ms',
  'success_percent',
  'cpu_us_per_request',
  'memory_bytes',
] as const;
export type ThresholdMetric = (typeof thresholdMetrics)[number];
/** Metrics of a benchmark gate, which measures an app without the proxy. */
export const gateMetrics: readonly ThresholdMetric[] = [
  'requests_per_second',
  'p50_ms',
  'p90_ms',
  'p99_ms',
  'success_percent',
];
export const thresholdsMax = 20;

const concurrencySchema = z
  .number()
  .int('A number of clients is a whole number.')
  .min(1, 'Choose at least 1 client.')
  .max(20_000, 'Choose at most 20000 clients.');
/** Requests per second of an open loop. */
const rateSchema = z
  .number('Enter a number of requests per second.')
  .int('Requests per second are a whole number.')
  .min(1, 'Choose at least 1 request per second.')
  .max(100_000, 'Choose at most 100000 requests per second.');
const limitSchema = z.number().min(0, 'A limit is at least 0.').max(1e12, 'A limit is at most 1000000000000.');

/** Limit of a metric. It holds for every row that has the metric and fits its `target`, `protocol` and `concurrency`. */
export const thresholdSchema = z
  .strictObject({
    metric: z.enum(thresholdMetrics),
    max: limitSchema.optional(),
    min: limitSchema.optional(),
    target: benchmarkTargetSchema.optional(),
    protocol: benchmarkProtocolSchema.optional(),
    concurrency: concurrencySchema.optional(),
  })
  .superRefine(({ metric, max, min }, { addIssue }) => {
    const path = max === undefined ? ['min'] : ['max'];
    if ((max === undefined) === (min === undefined)) {
      addIssue({ code: 'custom', path, message: 'A threshold has either a maximum or a minimum.' });
    }
    const limit = max ?? min ?? 0;
    if (metric === 'success_percent' && limit > 100) {
      addIssue({ code: 'custom', path, message: 'A success rate is at most 100 %.' });
    }
    if (max === 0 && metric !== 'success_percent') {
      addIssue({ code: 'custom', path, message: 'A maximum of 0 can never pass.' });
    }
  });
export type Threshold = z.infer<typeof thresholdSchema>;

/** Threshold of a benchmark gate. With `relativeTo`, it limits the ratio to the live release: 1.2 is 20 % more. */
export const gateThresholdSchema = thresholdSchema.safeExtend({ relativeTo: z.literal('live').optional() });
export type GateThreshold = z.infer<typeof gateThresholdSchema>;

export const benchmarkPathSchema = z
  .string()
  .max(PATH_CHARS_MAX, `A path has at most ${PATH_CHARS_MAX} characters.`)
  .regex(/^\/[\x21-\x7e]*$/, 'A path starts with / and has no spaces.');

const loadHeadersSchema = z.record(z.string(), z.string()).superRefine((headers, { addIssue }) => {
  for (const [name, value] of Object.entries(headers)) {
    const fault = headerFault(name, value);
    if (fault !== null) addIssue({ code: 'custom', path: [name], message: fault });
  }
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  if (names.length > 20) addIssue({ code: 'custom', message: 'A request has at most 20 headers.' });
  if (!unique(names)) addIssue({ code: 'custom', message: 'Name each header once.' });
});

const loadRequestSchema = z.strictObject({
  method: z.enum(loadMethods).default('GET'),
  path: benchmarkPathSchema.refine(
    (path) => !/\/(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(path),
    'A path has no . or .. between slashes.',
  ),
  /** Without credentials: the plan is stored and shared. */
  headers: loadHeadersSchema.default({}),
  body: z
    .string()
    .max(65_536)
    // PostgreSQL stores neither.
    .refine((body) => !body.includes('\0') && body.isWellFormed(), 'A body has no NUL and no unpaired surrogate.')
    .default(''),
  /** Share of the requests: this weight of the sum of all weights. */
  weight: z.number().int().min(1).max(1000).default(1),
});
export type LoadRequest = z.infer<typeof loadRequestSchema>;

const loadStageSchema = z.strictObject({
  durationMs: z.number().int().min(500).max(300_000),
  /** Rate at the end, to which it changes evenly from that of the stage before. */
  requestsPerSecond: rateSchema,
});

/** Load beyond one GET of a path. */
const benchmarkLoadSchema = z.strictObject({
  /** Empty: GET of `path`. Each measurement sends them in the same order. */
  requests: z.array(loadRequestSchema).max(50).default([]),
  /** Time of a client between a response and its next request, in a closed loop. */
  thinkTimeMs: z.number().int().min(0).max(60_000).default(0),
  /** Rates of an open loop after `requestsPerSecond`. Each stage is a row of its own, and `durationMs` is not used. */
  stages: z.array(loadStageSchema).max(10).default([]),
  /** Threads that generate load. Absent: half of the cores, or all of them for a target on another machine. */
  workers: z.number().int().min(1).max(WORKERS_MAX).optional(),
});
export type BenchmarkLoad = z.infer<typeof benchmarkLoadSchema>;

export const benchmarkPlanSchema = z.object({
  /** Target host; default: the app's first domain. */
  host: z
    .string()
    .max(253)
    .regex(/^[A-Za-z0-9.-]*$/, 'A host has letters, digits, dots and hyphens.')
    .optional(),
  path: benchmarkPathSchema.default('/'),
  targets: z
    .array(benchmarkTargetSchema)
    .min(1, 'Choose at least 1 target.')
    .max(11, 'Choose at most 11 targets.')
    .refine(unique, 'Name each target once.')
    .default(['proxy', 'direct']),
  protocols: z
    .array(benchmarkProtocolSchema)
    .min(1, 'Choose at least 1 protocol.')
    .max(4, 'Choose at most 4 protocols.')
    .refine(unique, 'Name each protocol once.')
    .default(['http1', 'http2']),
  concurrency: z
    .array(concurrencySchema)
    .min(1, 'Choose at least 1 concurrency.')
    .max(8, 'Choose at most 8 concurrencies.')
    .refine(unique, 'Name each concurrency once.')
    .default([1, 8, 32]),
  /** Rounds. Intervals need at least 3. */
  repeats: z.number().int().min(1).max(9).default(3),
  durationMs: z.number().int().min(500).max(30_000).default(2000),
  warmupMs: z.number().int().min(0).max(5000).default(500),
  /** `live`: the app behind its server's proxy. `lab`: Fairlead's own small app behind proxies that the agent starts. */
  upstream: z.enum(['live', 'lab']).default(plainPlan.upstream),
  scenario: benchmarkScenarioSchema.default(plainPlan.scenario),
  /** `fresh`: one connection, with a full TLS handshake, for each request. */
  connection: z.enum(['reused', 'fresh']).default(plainPlan.connection),
  /** Open loop: requests are sent at fixed times, and their latency counts from these. Null: a closed loop. */
  requestsPerSecond: rateSchema.nullable().default(null),
  /** Response of the lab's app. */
  labApp: z
    .strictObject({
      responseBytes: z.number().int().min(0).max(1_048_576).default(13),
      responseDelayMs: z
        .number()
        .int('A response delay is a whole number of milliseconds.')
        .min(0, 'A response delay is at least 0 ms.')
        .max(10_000, 'A response delay is at most 10000 ms.')
        .default(0),
      /** Every n-th request gets status 503, or status 14 of gRPC; 0: none. */
      errorEvery: z.number().int().min(0).max(1_000_000).default(0),
      /** Others than `own` must be installed on the server. */
      server: labServerSchema.default('own'),
    })
    .default(plainPlan.labApp),
  load: benchmarkLoadSchema.default(plainLoad),
  /** Impairment of the emulated link between clients and proxies, in each direction, for the scenario `packet-loss`. */
  link: z
    .strictObject({
      lossPercent: z
        .number()
        .min(0, 'Packet loss is at least 0 %.')
        .max(50, 'Packet loss is at most 50 %.')
        .multipleOf(0.0001, 'Packet loss has at most 4 decimal places.')
        .default(1),
      delayMs: z
        .number()
        .int('A link delay is a whole number of milliseconds.')
        .min(0, 'A link delay is at least 0 ms.')
        .max(1000, 'A link delay is at most 1000 ms.')
        .default(20),
    })
    .default(plainPlan.link),
  /** Limits that decide the outcome of the run. */
  thresholds: z.array(thresholdSchema).max(thresholdsMax).default([]),
});
export type BenchmarkPlan = z.infer<typeof benchmarkPlanSchema>;

/** A plan as it is stored and run: the host is decided. */
export const storedPlanSchema = benchmarkPlanSchema.extend({ host: z.string().min(1).max(253) });
export type StoredPlan = z.infer<typeof storedPlanSchema>;

/** Subject of a run as it was when the run was created. It has no name of a host or a person: a report shows all of it. */
export const benchmarkFactsSchema = z.object({
  /** Null: an imported run from a terminal, which knows no release. */
  release: z.object({ id: releaseIdSchema, number: z.number().int(), commitHash: z.string() }).nullable(),
  /** Number of the release's settings version; 0: the defaults. Null as `release`. */
  configNumber: z.number().int().nullable(),
  agentVersion: z.string(),
  machine: z.object({
    os: z.string(),
    kernel: z.string(),
    arch: z.string(),
    cpuCount: z.number().int(),
    memoryBytes: z.number(),
  }),
  /** Number of the release that was live when the run ended; another one means that the rows mix two releases. */
  endReleaseNumber: z.number().int().nullable(),
});
export type BenchmarkFacts = z.infer<typeof benchmarkFactsSchema>;

const countSchema = z.number().int().min(0);

/** CPU time and clock frequency of the machine in the measured time of a row. */
export const machineNoiseSchema = z.object({
  machineCpuUs: countSchema.describe('CPU time of all cores in microseconds, idle too.'),
  otherCpuUs: countSchema
    .nullable()
    .describe('CPU time of all processes but proxy, app and load generator; null if one of these is not known.'),
  stealUs: countSchema.describe('CPU time that the hypervisor gave to other machines.'),
  frequencyMhz: countSchema
    .nullable()
    .describe('Mean clock frequency of the cores; null if the machine does not show it.'),
});
export type MachineNoise = z.infer<typeof machineNoiseSchema>;

/** Emulated link during a row. Counts are packets of both directions, from the first connection of the row to its end. */
export const linkReportSchema = z.object({
  lossPercent: z.number(),
  delayMs: z.number(),
  /** Packets that the emulator took. */
  packets: countSchema,
  /** Packets that it dropped by chance. */
  lost: countSchema,
  /** Packets that found no room in a queue. */
  overflowed: countSchema,
  forwarded: countSchema,
  /** Packets that the kernel counts as sent into the link and received from it. */
  kernelSent: countSchema,
  kernelReceived: countSchema,
  /** Shortest time of several TCP handshakes over the link. */
  roundTripMs: z.number().min(0),
});
export type LinkReport = z.infer<typeof linkReportSchema>;

/** Part of a server in a row of a distributed run. */
export const rowPartSchema = z.object({
  serverId: serverIdSchema,
  name: z.string(),
  role: z.enum(['measure', 'load']),
  concurrency: countSchema,
  clients: countSchema,
  requests: countSchema,
  errors: countSchema,
  failures: z.record(z.string(), z.number()),
  bytesReceived: countSchema,
  /** Pairs of bucket and count of the contract's histogram. */
  latency: z.object({ sumUs: countSchema, counts: z.array(z.tuple([countSchema, countSchema])) }),
  latencyMaxUs: countSchema,
  unsent: countSchema,
  generatorCpuUs: countSchema,
  generatorSaturated: z.boolean(),
  /** Start of its measured time minus the common start, by the clock of the control plane. */
  startOffsetUs: z.number().int(),
});
export type RowPart = z.infer<typeof rowPartSchema>;

const rowPartViewSchema = rowPartSchema
  .omit({ latency: true, latencyMaxUs: true, bytesReceived: true, failures: true })
  .extend({ requestsPerSecond: z.number(), p50Ms: z.number().nullable(), p99Ms: z.number().nullable() });

export const benchmarkRowSchema = z.object({
  id: z.string(),
  position: z.number().int(),
  round: z.number().int(),
  target: benchmarkTargetSchema,
  protocol: benchmarkProtocolSchema,
  /** Null: an older agent, or no instance was running when the run began. */
  networkPath: networkPathSchema.nullable(),
  concurrency: z.number().int(),
  durationMs: z.number().int(),
  requests: z.number(),
  errors: z.number(),
  requestsPerSecond: z.number(),
  p50Ms: z.number().nullable(),
  p90Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
  /** The proxy's CPU time for one request; null for direct rows and empty ones. */
  cpuUsPerRequest: z.number().nullable(),
  proxyMemoryBytes: z.number().nullable(),
  bytesReceived: z.number(),
  p999Ms: z.number().nullable(),
  maxMs: z.number().nullable(),
  /** Null: a row of the matrix without stages. */
  phase: benchmarkPhaseSchema.nullable(),
  /** Null: plain requests. */
  probe: benchmarkProbeSchema.nullable(),
  /** Errors by kind, such as `timeout` or `5xx`. */
  failures: z.record(z.string(), z.number()),
  generatorCpuUs: z.number(),
  /** True if the load generator, not the target, limits the result. */
  generatorSaturated: z.boolean(),
  /** CPU time of the app; 0 if it is not known. */
  appCpuUs: z.number(),
  /** Clients that got a response. */
  clients: z.number().int(),
  /** Requests of an open loop that could not be sent before the end. */
  unsent: z.number(),
  /** Null: not sampled. */
  noise: machineNoiseSchema.nullable(),
  /** Null: no emulated link. */
  link: linkReportSchema.nullable(),
  /** Connections to the lab's app at the end of the row; 0 outside the lab. */
  appConnections: z.number().int(),
  /** Parts of the servers; empty: one server measured the row. */
  parts: z.array(rowPartViewSchema),
  /** Latency by percentile; empty without a successful request. */
  percentiles: z.array(z.object({ percent: z.number(), ms: z.number() })),
});
export type BenchmarkRowView = z.infer<typeof benchmarkRowSchema>;

/** Id and time of an imported run at its origin. */
export const runOriginSchema = z.object({ runId: runIdSchema, createdAt: z.iso.datetime() });
/** `none`: the plan has no thresholds, or the run has not succeeded. */
export const benchmarkOutcomeSchema = z.enum(['passed', 'failed', 'none']);
export type BenchmarkOutcome = z.infer<typeof benchmarkOutcomeSchema>;

export const thresholdResultSchema = z.object({
  threshold: thresholdSchema,
  passed: z.boolean(),
  /** False if the limit lies inside the interval of a cell, or a cell has fewer than three rounds. */
  certain: z.boolean(),
  /** Measured cells that the threshold holds for; empty: none, and the threshold has failed. */
  cells: z.array(
    z.object({
      target: benchmarkTargetSchema,
      protocol: benchmarkProtocolSchema,
      networkPath: networkPathSchema.nullable(),
      concurrency: z.number().int(),
      /** Median over the rounds; null: a round had no successful request. */
      value: z.number().nullable(),
      /** 95 % interval of the median; null with fewer than three rounds. */
      interval: z.object({ low: z.number(), high: z.number() }).nullable(),
      passed: z.boolean(),
    }),
  ),
});
export type ThresholdResult = z.infer<typeof thresholdResultSchema>;

export const benchmarkSummarySchema = z.object({
  id: runIdSchema,
  appId: appIdSchema,
  appName: z.string(),
  appSlug: z.string(),
  environmentId: environmentIdSchema,
  /** Null for an imported run, like the server's name. */
  serverId: serverIdSchema.nullable(),
  serverName: z.string().nullable(),
  state: benchmarkStateSchema,
  plan: storedPlanSchema,
  /** Name of the saved plan that it was started from. */
  planName: z.string().nullable(),
  /** Null: a run from before Fairlead stored them. */
  facts: benchmarkFactsSchema.nullable(),
  trigger: benchmarkTriggerSchema,
  /** Identity of the run at its origin; null: measured here. */
  origin: runOriginSchema.nullable(),
  tags: z.array(z.string()),
  note: z.string(),
  outcome: benchmarkOutcomeSchema,
  rowsDone: z.number().int(),
  rowsTotal: z.number().int(),
  failureCode: z.string().nullable(),
  failureMessage: z.string().nullable(),
  createdAt: z.date(),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
  /** Runs before it in the queue of its server; null once it has started. */
  aheadInQueue: z.number().int().nullable(),
  /** Requests a second of the best proxy row; null before there is one. */
  bestRequestsPerSecond: z.number().nullable(),
  bestP99Ms: z.number().nullable(),
});
export type BenchmarkSummary = z.infer<typeof benchmarkSummarySchema>;

/** Program behind a target of the lab. */
export const benchmarkProgramSchema = z.object({
  target: benchmarkTargetSchema,
  version: z.string(),
  /** Configuration, with names between at signs for ports and folders. */
  configuration: z.string(),
  /** Reason if it was not measured, such as `not installed`. */
  skipped: z.string().nullable(),
});
export type BenchmarkProgram = z.infer<typeof benchmarkProgramSchema>;

/** Deployment that the control plane started while the load ran, in the order of the rounds. */
export const benchmarkEventSchema = z.object({
  at: z.iso.datetime(),
  deploymentId: deploymentIdSchema.nullable(),
  /** Reason if there is no deployment. */
  problem: z.string().nullable(),
});
export type BenchmarkEvent = z.infer<typeof benchmarkEventSchema>;

/** Server of a distributed run; `measure`: that of the app. */
export const runServerSchema = z.object({
  serverId: serverIdSchema,
  name: z.string(),
  role: z.enum(['measure', 'load']),
  /** Its clock minus that of the control plane, in the latest row; null: not measured yet. */
  clockOffsetUs: z.number().nullable(),
  clockUncertaintyUs: z.number().nullable(),
});
export type RunServer = z.infer<typeof runServerSchema>;

export const benchmarkDetailSchema = benchmarkSummarySchema.extend({
  /** Empty: only the server of the app. */
  servers: z.array(runServerSchema),
  programs: z.array(benchmarkProgramSchema),
  events: z.array(benchmarkEventSchema),
  rows: z.array(benchmarkRowSchema),
  /** One for each threshold of the plan, in its order, once the run has succeeded. */
  thresholds: z.array(thresholdResultSchema),
  canCancel: z.boolean(),
});
export type BenchmarkDetail = z.infer<typeof benchmarkDetailSchema>;

const tagsMax = 10;

export const benchmarkTagSchema = nameSchema.max(30, 'A tag has at most 30 characters.');

export const listBenchmarksInputSchema = pageInputSchema.extend({
  appId: appIdSchema.optional(),
  serverId: serverIdSchema.optional(),
  state: benchmarkStateSchema.optional(),
  tag: benchmarkTagSchema.optional(),
  /** Part of the app's, server's or plan's name, the host, a tag or the note; the start of a commit hash; or a release such as #12. */
  search: searchSchema.optional(),
});
export type ListBenchmarksInput = z.infer<typeof listBenchmarksInputSchema>;
export const benchmarkPageSchema = countedPageSchema(benchmarkSummarySchema);

/** Values of runs to filter by. */
export const benchmarkFiltersSchema = z.object({ tags: z.array(z.string()) });
export type BenchmarkFilters = z.infer<typeof benchmarkFiltersSchema>;

export const updateBenchmarkInputSchema = z.object({
  runId: runIdSchema,
  tags: z
    .array(benchmarkTagSchema)
    .max(tagsMax, `A run has at most ${tagsMax} tags.`)
    .refine(unique, 'Name each tag once.')
    .optional(),
  note: z.string().trim().max(2000, 'A note has at most 2000 characters.').optional(),
});
export type UpdateBenchmarkInput = z.infer<typeof updateBenchmarkInputSchema>;

export const measurablePlanSchema = benchmarkPlanSchema.check(({ value, issues }) => {
  for (const { field, message } of planFaults(value)) {
    issues.push({ code: 'custom', path: [field], message, input: value });
  }
});

/** Servers that send the requests; empty: the app's server. The limits of the plan hold for their sum. */
export const loadServerIdsSchema = z
  .array(serverIdSchema)
  .max(LOAD_SERVERS_MAX, `A run has at most ${LOAD_SERVERS_MAX} load servers.`)
  .refine(unique, 'Name each server once.');

interface DistributedInput {
  readonly plan?: BenchmarkPlan | undefined;
  readonly loadServerIds?: readonly string[] | undefined;
}

/** Adds an issue for each field of a plan that load servers can't measure. */
export function checkDistribution({ value, issues }: z.core.ParsePayload<DistributedInput>): void {
  if (value.plan === undefined) return;
  for (const { field, message } of distributionFaults(value.plan, value.loadServerIds?.length ?? 0)) {
    issues.push({ code: 'custom', path: ['plan', field], message, input: value });
  }
}

/** Without an environment: in the primary one. */
export const createBenchmarkInputSchema = z
  .object({
    appId: appIdSchema,
    environmentId: environmentIdSchema.optional(),
    plan: measurablePlanSchema,
    /** Saved plan that the run is started from; `plan` and `loadServerIds` are the same. The run keeps its name. */
    planId: benchmarkPlanIdSchema.optional(),
    loadServerIds: loadServerIdsSchema.optional(),
  })
  .check(checkDistribution);
export type CreateBenchmarkInput = z.infer<typeof createBenchmarkInputSchema>;

export const benchmarkRefSchema = z.object({ runId: runIdSchema });
export type BenchmarkRef = z.infer<typeof benchmarkRefSchema>;

/** `isIndexed`: search engines may list the page. */
export const publishBenchmarkInputSchema = benchmarkRefSchema.extend({ isIndexed: z.boolean().default(false) });
export type PublishBenchmarkInput = z.infer<typeof publishBenchmarkInputSchema>;

export const reportStateSchema = z.object({
  id: reportIdSchema,
  isIndexed: z.boolean(),
  publishedAt: z.date(),
});
export type ReportState = z.infer<typeof reportStateSchema>;

/** Facts that a published report shows. */
export const reportPreviewSchema = z.object({
  title: z.string(),
  createdAt: z.date(),
  rows: z.number().int(),
  targets: z.array(z.string()),
  agentVersion: z.string().nullable(),
  machine: benchmarkFactsSchema.shape.machine.nullable(),
});
export type ReportPreview = z.infer<typeof reportPreviewSchema>;

/** Without a cell, a threshold that is relative to the live release had none to compare with, and passed. */
const gateThresholdResultSchema = thresholdResultSchema.extend({ threshold: gateThresholdSchema });
export type GateThresholdResult = z.infer<typeof gateThresholdResultSchema>;

const gateRowSchema = z.object({
  round: z.number().int(),
  requests: z.number(),
  errors: z.number(),
  requestsPerSecond: z.number(),
  p50Ms: z.number().nullable(),
  p90Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
});

/** Benchmark gate of a deployment on one server. */
export const gateResultSchema = z.object({
  path: z.string(),
  concurrency: z.number().int(),
  durationMs: z.number().int(),
  rounds: z.number().int(),
  /** Failed too if the load did not end. */
  outcome: z.enum(['running', 'passed', 'failed']),
  /** One for each round that has ended. */
  rows: z.array(gateRowSchema),
  /** Rows of the live release; empty if no threshold is relative to it, or there was none to compare with. */
  liveRows: z.array(gateRowSchema),
  /** One for each threshold, in order, once all rounds have ended. */
  thresholds: z.array(gateThresholdResultSchema),
});
export type GateResult = z.infer<typeof gateResultSchema>;
