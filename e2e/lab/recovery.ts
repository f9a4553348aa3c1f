// Injects a known delay and known errors into the lab's app, and compares the rows with them.
import type { AppId } from '@fairlead/contract/ids';
import { benchmarkPlanSchema } from '@fairlead/core/benchmark';
import type { System } from '../system/harness/system.ts';
import { runPlan } from './run-scenario.ts';

const DELAY_MS = 20;
const ERROR_EVERY = 10;
/** Latency that the machine itself may add to a request at the median. */
const DELAY_ADDED_MAX_MS = 10;

/** Returns a sentence for each injected fault that the rows do not show. */
export async function recoveryFaults(system: System, appId: AppId): Promise<string[]> {
  const plan = benchmarkPlanSchema.parse({
    upstream: 'lab',
    targets: ['direct', 'proxy', 'nginx'],
    protocols: ['http1'],
    concurrency: [4],
    repeats: 1,
    durationMs: 1500,
    warmupMs: 200,
    labApp: { responseDelayMs: DELAY_MS, errorEvery: ERROR_EVERY },
  });
  const run = await runPlan(system, appId, plan);
  if (run.state !== 'succeeded') return [`recovery ${run.state}: ${run.failureMessage}`];
  return run.rows.flatMap(({ target, p50Ms, requests, errors, failures }) => {
    const faults: string[] = [];
    // Buckets of a histogram are up to 2 % wide.
    if (p50Ms === null || p50Ms < 0.98 * DELAY_MS || p50Ms > DELAY_MS + DELAY_ADDED_MAX_MS) {
      faults.push(`${target}: a delay of ${DELAY_MS} ms was measured as ${p50Ms}`);
    }
    const share = errors / (requests + errors);
    // The window cuts the sequence of requests at any point.
    if (Math.abs(share - 1 / ERROR_EVERY) > 0.02) {
      faults.push(`${target}: every ${ERROR_EVERY}th request failed, and ${(share * 100).toFixed(1)} % were counted`);
    }
    const kinds = Object.keys(failures);
    if (kinds.join() !== '5xx') faults.push(`${target}: status 503 was counted as ${kinds}`);
    return faults;
  });
}
