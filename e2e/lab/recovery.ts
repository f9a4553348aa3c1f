// Injects a known delay and known errors into the lab's app, and compares the rows with them.
import type { AppId } from '@fairlead/contract/ids';
import { benchmarkPlanSchema } from '@fairlead/core/benchmark';
import type { System } from '../system/harness/system.ts';
import type { RecoveryBounds } from './link-faults.ts';
import { runPlan } from './run-scenario.ts';

const DELAY_MS = 20;
const ERROR_EVERY = 10;
/** Requests that the ends of the measured time may count on the other side. */
const CUT_MAX = 4;

/** Kind of an injected error by protocol. */
const INJECTED = { http1: '5xx', grpc: 'grpc_status' } as const;

/** Returns a sentence for each injected fault that the rows do not show. */
export async function recoveryFaults(system: System, appId: AppId, bounds: RecoveryBounds): Promise<string[]> {
  const ofHttp1 = await faultsOver('http1', system, appId, bounds);
  return [...ofHttp1, ...(await faultsOver('grpc', system, appId, bounds))];
}

async function faultsOver(
  protocol: keyof typeof INJECTED,
  system: System,
  appId: AppId,
  { delayAddedMaxMs }: RecoveryBounds,
): Promise<string[]> {
  const plan = benchmarkPlanSchema.parse({
    upstream: 'lab',
    targets: ['direct', 'proxy', 'nginx'],
    protocols: [protocol],
    concurrency: [4],
    repeats: 1,
    durationMs: 1500,
    warmupMs: 200,
    labApp: { responseDelayMs: DELAY_MS, errorEvery: ERROR_EVERY },
  });
  const run = await runPlan(system, appId, plan);
  if (run.state !== 'succeeded') return [`recovery over ${protocol} ${run.state}: ${run.failureMessage}`];
  return run.rows.flatMap(({ target, p50Ms, requests, errors, failures }) => {
    const faults: string[] = [];
    // Buckets of a histogram are up to 2 % wide.
    if (p50Ms === null || p50Ms < 0.98 * DELAY_MS || p50Ms > DELAY_MS + delayAddedMaxMs) {
      faults.push(`${target}: a delay of ${DELAY_MS} ms was measured as ${p50Ms}`);
    }
    const expected = (requests + errors) / ERROR_EVERY;
    if (Math.abs(errors - expected) > CUT_MAX) {
      faults.push(`${target}: ${errors} of ${requests + errors} requests failed instead of each ${ERROR_EVERY}th`);
    }
    const kinds = Object.keys(failures);
    if (kinds.join() !== INJECTED[protocol]) faults.push(`${target}: injected errors were counted as ${kinds}`);
    return faults.map((fault) => `${protocol}: ${fault}`);
  });
}
