// Reads a document for import: checks it beyond its format, and turns it into columns of a run and its rows. Pure.
import { createHash } from 'node:crypto';
import { bucketIndex, bucketLowerUs, bucketUpperUs, encodeHistogram } from '@fairlead/contract/histogram';
import { appIdSchema, environmentIdSchema, type RunId, runIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { type BenchmarkDocument, type BenchmarkDocumentRow, readBenchmarkDocument, runScenarios } from './document.ts';
import { redactPlan } from './load.ts';
import { rowsOf } from './plan.ts';
import {
  type BenchmarkFacts,
  type BenchmarkProgram,
  benchmarkFactsSchema,
  benchmarkPhaseSchema,
  networkPathSchema,
  type StoredPlan,
} from './schema.ts';

/** More rows than the largest plan has. */
const rowsMax = 2000;
/** Largest number of a column. */
const intMax = 2_147_483_647;

/** Columns of an imported run. Figures without a column are left out. */
export interface ImportedRun {
  readonly runId: RunId;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly plan: StoredPlan;
  readonly facts: BenchmarkFacts | null;
  readonly programs: readonly BenchmarkProgram[];
  readonly rows: readonly ImportedRow[];
}

type ImportedRow = ReturnType<typeof toRow>;
type Refuse = (path: readonly PropertyKey[], message: string) => void;

/** A document of any format that this run can be read from. Each error names its path. */
const importedRunSchema = z.unknown().transform((value, ctx): ImportedRun => {
  let isRefused = false;
  const refuse: Refuse = (path, message) => {
    isRefused = true;
    ctx.issues.push({ code: 'custom', path: [...path], message, input: value });
  };
  const document = readDocument(value, refuse);
  const run = document === null ? null : toRun(document, refuse);
  return run === null || isRefused ? z.NEVER : run;
});

export const importBenchmarkInputSchema = z.object({
  appId: appIdSchema,
  environmentId: environmentIdSchema.optional(),
  /** Content of *Download rows*, as JSON. */
  document: importedRunSchema,
});
export type ImportBenchmarkInput = z.infer<typeof importBenchmarkInputSchema>;

/** `isNew` is false if the app already has a run with the same content. */
export const importedBenchmarkSchema = z.object({ runId: runIdSchema, isNew: z.boolean() });
export type ImportedBenchmark = z.infer<typeof importedBenchmarkSchema>;

function readDocument(value: unknown, refuse: Refuse): BenchmarkDocument | null {
  try {
    return readBenchmarkDocument(value);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    for (const { path, message } of error.issues) refuse(path, message);
    return null;
  }
}

function toRun(document: BenchmarkDocument, refuse: Refuse): ImportedRun | null {
  const { runId, plan, state, rows, createdAt, startedAt, finishedAt } = document;
  if (state !== 'succeeded') refuse(['state'], 'Only a run that succeeded can be imported.');
  if (rows.length === 0) refuse(['rows'], 'The run has no rows.');
  if (rows.length > rowsMax) refuse(['rows'], `A run has at most ${rowsMax} rows.`);
  const facts = benchmarkFactsSchema.nullable().safeParse(document.facts);
  for (const { path, message } of facts.error?.issues ?? []) refuse(['facts', ...path], message);
  if (runId === null || plan === null) {
    refuse([runId === null ? 'runId' : 'plan'], 'Only a run of the dashboard can be imported, and this is none.');
    return null;
  }
  if (rows.length <= rowsMax) checkRows(plan, rows, refuse);
  if (facts.data === undefined) return null;
  const programs = programsOf(document, plan);
  // A document of an older version may have a query.
  return {
    runId,
    createdAt,
    startedAt,
    finishedAt,
    plan: redactPlan(plan),
    facts: facts.data,
    programs,
    rows: rows.map(toRow),
  };
}

/** Programs of a lab's run, as its targets describe them. */
function programsOf({ targets, notMeasured }: BenchmarkDocument, plan: StoredPlan): BenchmarkProgram[] {
  if (plan.upstream !== 'lab') return [];
  return plan.targets.flatMap((target) => {
    const described = targets.find(({ name }) => name === target);
    // A direct target is a program only where an app server answers in the lab.
    if (described === undefined || (target === 'direct' && described.version === null)) return [];
    return [
      {
        target,
        version: described.version ?? '',
        configuration: described.configuration ?? '',
        skipped: notMeasured.find((other) => other.target === target)?.reason ?? null,
      },
    ];
  });
}

function checkRows(plan: StoredPlan, rows: readonly BenchmarkDocumentRow[], refuse: Refuse): void {
  const positions = new Set<number>();
  if (rows.length > rowsOf(plan)) refuse(['rows'], `The plan has ${rowsOf(plan)} rows.`);
  for (const [at, row] of rows.entries()) {
    const refuseField = (field: string, message: string) => refuse(['rows', at, field], message);
    if (positions.has(row.position)) refuseField('position', 'Another row has this position.');
    positions.add(row.position);
    for (const field of ['position', 'round', 'concurrency', 'durationMs', 'clients', 'appConnections'] as const) {
      if ((row[field] ?? 0) > intMax) refuseField(field, `This is at most ${intMax}.`);
    }
    const scenario = runScenarios[plan.scenario].name;
    if (row.scenario !== scenario) refuseField('scenario', `The plan has the scenario ${scenario}.`);
    if (row.round >= plan.repeats) refuseField('round', `The plan has ${plan.repeats} rounds, numbered from 0.`);
    if (row.connection !== plan.connection) refuseField('connection', `The plan has ${plan.connection} connections.`);
    if (!plan.targets.some((target) => target === row.target)) refuseField('target', 'The plan has no such target.');
    if (!plan.protocols.some((protocol) => protocol === row.protocol)) {
      refuseField('protocol', 'The plan has no such protocol.');
    }
    if (!benchmarkPhaseSchema.nullish().safeParse(row.phase).success) {
      refuseField('phase', 'Fairlead knows no such phase.');
    }
    if ((plan.scenario === 'latency') !== (row.probe != null)) {
      refuseField('probe', 'Rows have a probe in the scenario latency only, and all of them have one there.');
    }
    if (!networkPathSchema.nullable().safeParse(row.networkPath).success) {
      refuseField('networkPath', 'Fairlead knows no such network path.');
    }
    checkBuckets(row.latency.buckets, (bucket, message) => refuse(['rows', at, 'latency', 'buckets', bucket], message));
  }
}

function checkBuckets(
  buckets: BenchmarkDocumentRow['latency']['buckets'],
  refuse: (bucket: number, message: string) => void,
): void {
  let last = -1;
  for (const [bucket, [lower, upper]] of buckets.entries()) {
    const index = bucketIndex(lower);
    if (bucketLowerUs(index) !== lower || bucketUpperUs(index) !== upper) {
      refuse(bucket, 'Fairlead has no bucket with these limits.');
    } else if (index <= last) {
      refuse(bucket, 'Buckets ascend, and each comes once.');
    }
    last = index;
  }
}

function toRow(row: BenchmarkDocumentRow) {
  const { position, round, target, protocol, networkPath, concurrency, durationMs, requests, errors, latency } = row;
  return {
    ...{ position, round, target, protocol, networkPath, concurrency, durationMs, requests, errors },
    latency: encodeHistogram({ counts: new Map(countsOf(latency)), sumUs: latency.sumUs }),
    proxyCpuUs: row.proxyCpuUs ?? 0,
    proxyMemoryBytes: row.proxyMemoryBytes ?? 0,
    bytesReceived: row.bytesReceived ?? 0,
    phase: row.phase ?? null,
    ...(row.probe == null ? {} : { probe: row.probe }),
    failures: row.failures ?? {},
    generatorCpuUs: row.generatorCpuUs ?? 0,
    isSaturated: row.generatorSaturated ?? false,
    appCpuUs: row.appCpuUs ?? 0,
    clients: row.clients ?? 0,
    ...(row.noise == null ? {} : { noise: row.noise }),
    ...(row.link == null ? {} : { link: row.link }),
    appConnections: row.appConnections ?? 0,
    ...(row.parts == null
      ? {}
      : {
          parts: row.parts.map((part) => ({
            ...part,
            latency: { sumUs: part.latency.sumUs, counts: countsOf(part.latency) },
          })),
        }),
  };
}

function countsOf({ buckets }: BenchmarkDocumentRow['latency']): [number, number][] {
  return buckets.map(([lower, , count]) => [bucketIndex(lower), count]);
}

/** Identifies what is stored: the same in any format and formatting. */
export function hashRun({ rows, ...run }: ImportedRun): string {
  const content = {
    ...run,
    rows: rows.map((row) => ({ ...row, latency: Buffer.from(row.latency).toString('base64') })),
  };
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
