// Runs one scenario through the control plane and checks its rows.
import type { AppId } from '@fairlead/contract/ids';
import type { BenchmarkDetail, BenchmarkPlan } from '@fairlead/core/benchmark';
import { rowsOf, timeLimitMs } from '@fairlead/core/benchmark/plan';
import { waitFor } from '../../tools/lib/wait.ts';
import { orphansOf } from '../perf/process-figures.ts';
import type { System } from '../system/harness/system.ts';
import { linkFaults, type RecoveryBounds } from './link-faults.ts';
import type { LabScenario } from './scenarios.ts';

export interface ScenarioResult {
  readonly name: string;
  readonly run: BenchmarkDetail;
  readonly faults: readonly string[];
}

/** Far more than a killed program takes. */
const PROGRAMS_END_MS = 30_000;
const FINISHED = new Set(['succeeded', 'failed', 'cancelled']);

export async function runPlan(system: System, appId: AppId, plan: BenchmarkPlan): Promise<BenchmarkDetail> {
  const { runId } = await system.product.verbs.createBenchmark({ appId, plan });
  return await waitFor(
    async () => {
      const run = await system.product.verbs.getBenchmark({ runId });
      return FINISHED.has(run.state) ? run : undefined;
    },
    { what: `the end of ${runId}`, timeoutMs: timeLimitMs(plan) },
  );
}

export async function runScenario(
  system: System,
  appId: AppId,
  scenario: LabScenario,
  bounds: RecoveryBounds,
): Promise<ScenarioResult> {
  const run = await runPlan(system, appId, scenario.plan);
  await untilProgramsEnd(system);
  return { name: scenario.name, run, faults: faultsOf(scenario, run, bounds) };
}

/** Waits until no program of the lab is left. It ends with its run, but the kernel ends it a moment later. */
async function untilProgramsEnd(system: System): Promise<void> {
  const { agentPid } = system;
  if (agentPid === undefined) throw new Error('the agent does not run');
  const haveEnded = () => orphansOf(agentPid).length === 0;
  await waitFor(haveEnded, { what: 'the end of the programs of the lab', timeoutMs: PROGRAMS_END_MS });
}

/** Returns a sentence for each fault of the rows of a run. */
function faultsOf({ plan, mustMeasure }: LabScenario, run: BenchmarkDetail, bounds: RecoveryBounds): string[] {
  if (run.state !== 'succeeded') return [`it ${run.state}: ${run.failureMessage}`];
  const faults: string[] = [];
  const skipped = run.programs.filter((program) => program.skipped !== null);
  for (const { target, skipped: reason } of skipped) {
    if (mustMeasure.includes(target)) faults.push(`${target} was not measured: ${reason}`);
  }
  const measured = plan.targets.filter((target) => skipped.every((program) => program.target !== target));
  const expected = rowsOf({ ...plan, targets: measured });
  if (run.rows.length !== expected) faults.push(`it has ${run.rows.length} rows instead of ${expected}`);
  for (const found of run.rows) {
    const { position, target, protocol, phase, probe, requests, errors, failures, cpuUsPerRequest } = found;
    const row = [position, target, protocol, phase, probe].filter((part) => part !== null).join(' ');
    const isWorking = plan.upstream === 'lab' && target !== 'direct' && phase === null;
    if (isWorking && cpuUsPerRequest === null) faults.push(`row ${row} has no CPU time of its proxy`);
    if (requests === 0) faults.push(`row ${row} has no response`);
    if (errors > 0) faults.push(`row ${row} has ${errors} errors: ${JSON.stringify(failures)}`);
  }
  if (plan.scenario === 'packet-loss') faults.push(...linkFaults(plan, run.rows, bounds));
  if (plan.labApp.server !== 'own' && run.rows.some(({ appConnections }) => appConnections === 0)) {
    faults.push('a row has no connection to the app server');
  }
  if (plan.scenario === 'deploy') faults.push(...eventFaults(plan, run));
  return faults;
}

function eventFaults({ repeats }: BenchmarkPlan, { events }: BenchmarkDetail): string[] {
  const problems = events.flatMap(({ problem }) =>
    problem === null ? [] : [`a deployment did not start: ${problem}`],
  );
  return events.length === repeats ? problems : [...problems, `${events.length} deployments instead of ${repeats}`];
}
