// Document of a benchmark run: everything that was measured, to keep, to share and to draw again. Its JSON Schema is
// docs/benchmarks/run.schema.json. A change that older readers can't follow gets another `format`.
import { runIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import {
  benchmarkFactsSchema,
  benchmarkOutcomeSchema,
  benchmarkProtocolSchema,
  benchmarkStateSchema,
  benchmarkTargetSchema,
  networkPathSchema,
  storedPlanSchema,
  thresholdResultSchema,
} from './schema.ts';

const count = z.number().int().min(0);

const latencySchema = z
  .object({
    sumUs: count.describe('Sum of all latencies in microseconds.'),
    buckets: z
      .array(z.tuple([count, count, count]))
      .describe(
        '[lowest latency, lowest latency above the bucket, requests], in microseconds, ascending. Empty buckets are left out.',
      ),
  })
  .describe('Latencies of successful requests. Histograms of several rows may be added up bucket by bucket.');

const rawRowSchema = z.object({
  position: count.describe('Position in the run, from 0, in the order of measurement.'),
  round: count.describe('Round, from 0. Each round measures every combination once.'),
  target: benchmarkTargetSchema.describe("The app through Fairlead's proxy, or directly."),
  protocol: benchmarkProtocolSchema,
  networkPath: networkPathSchema.nullable().describe('Rows of different network paths are not comparable.'),
  concurrency: count.describe('Concurrent clients.'),
  durationMs: count.describe('Measured time.'),
  requests: count.describe('Responses with a status from 200 to 299.'),
  errors: count.describe('Other responses and failed requests.'),
  latency: latencySchema,
  proxyCpuUs: count.describe('CPU time of the proxy in microseconds; 0 for direct rows.'),
  proxyMemoryBytes: count.describe('Proportional set size of the proxy at the end; 0 for direct rows.'),
  bytesReceived: count.describe('Bytes of response bodies.'),
});

export const benchmarkDocumentSchema = z.object({
  format: z.literal('fairlead-benchmark-1'),
  runId: runIdSchema,
  state: benchmarkStateSchema,
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  finishedAt: z.iso.datetime().nullable(),
  plan: storedPlanSchema,
  facts: benchmarkFactsSchema.nullable().describe('What was measured: release, agent and machine.'),
  outcome: benchmarkOutcomeSchema.describe('Outcome of the thresholds of the plan.'),
  thresholds: z.array(thresholdResultSchema).describe('Results of the thresholds of the plan, in its order.'),
  rows: z.array(rawRowSchema),
});
export type BenchmarkDocument = z.infer<typeof benchmarkDocumentSchema>;
