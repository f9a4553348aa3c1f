// Schema of an app's benchmark gate: load on a new instance before it gets requests, with thresholds that must be met.
// Invariant: stored values are in the agent's bounds.
import { z } from 'zod';
import { benchmarkPathSchema, gateMetrics, gateThresholdSchema, thresholdsMax } from '../benchmark/schema.ts';

/** Part of each round that does not count. */
export const gateWarmupMs = 500;
/** Maximum time of the load: a rollout waits for it. */
const loadMsMax = 60_000;
/** Greatest limit: the agent counts in thousandths. */
const limitMax = 1e9;

const settableThresholdSchema = gateThresholdSchema.superRefine(
  ({ metric, max, min, target, protocol, concurrency, relativeTo }, context) => {
    const path = max === undefined ? ['min'] : ['max'];
    const limit = max ?? min ?? 0;
    const refuse = (at: string[], message: string) => context.addIssue({ code: 'custom', path: at, message });
    if (!gateMetrics.includes(metric)) {
      refuse(['metric'], 'A benchmark gate measures the app without the proxy, so it has no such metric.');
    }
    if (target !== undefined || protocol !== undefined || concurrency !== undefined) {
      refuse([], 'A threshold of a benchmark gate holds for its only row.');
    }
    if (relativeTo !== undefined && limit === 0) refuse(path, 'A ratio is greater than 0.');
    if (limit > limitMax) refuse(path, 'A limit is at most 1,000,000,000.');
    if (Math.round(limit * 1000) / 1000 !== limit) refuse(path, 'A limit has at most three decimals.');
  },
);

export const benchmarkGateSchema = z
  .object({
    path: benchmarkPathSchema.default('/'),
    concurrency: z.number().int().min(1).max(1024).default(16),
    /** Measured time of a round. */
    durationMs: z.number().int().min(500).max(30_000).default(3000),
    /** Number of measurements. Their median decides. */
    rounds: z.number().int().min(1).max(9).default(3),
    thresholds: z.array(settableThresholdSchema).min(1, 'Add a threshold.').max(thresholdsMax),
  })
  .refine((gate) => gateLoadMs(gate) <= loadMsMax, {
    path: ['rounds'],
    message: 'All rounds together take at most 60 seconds, with those of a live release that thresholds compare with.',
  });
export type BenchmarkGateSettings = z.infer<typeof benchmarkGateSchema>;

interface GateLoad {
  readonly durationMs: number;
  readonly rounds: number;
  readonly thresholds: readonly { readonly relativeTo?: 'live' | undefined }[];
}

/** Returns the time of the load, with its warm-ups. Thresholds relative to the live release double it. */
export function gateLoadMs({ durationMs, rounds, thresholds }: GateLoad): number {
  const measured = thresholds.some(({ relativeTo }) => relativeTo !== undefined) ? 2 : 1;
  return measured * rounds * (durationMs + gateWarmupMs);
}
