// `npm run check:lab`: runs every scenario of the benchmark lab in its short form, through the control plane and a real agent.
// `-- --size small` runs the sizes of `npm test`.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { HAPROXY, IP, NGINX, PUMA, requirePrograms, UVICORN } from '../../tools/test/debian.ts';
import { System } from '../system/harness/system.ts';
import { recoveryFaults } from './recovery.ts';
import { REFUSABLE } from './refused.ts';
import { runScenario } from './run-scenario.ts';
import { installedServers, labScenarios, liveScenarios, SHORT, SMALL } from './scenarios.ts';
import { deploySleepyApp } from './sleepy-app.ts';

const { values: options } = parseArgs({ options: { size: { type: 'string', default: 'short' } } });
const size = options.size === 'small' ? SMALL : SHORT;
const missing = await requirePrograms([NGINX, HAPROXY, IP, PUMA, UVICORN]);
if (missing !== undefined) throw new Error(missing);

let [scenarios, rows, refused, failed] = [0, 0, 0, 0];
const report = (name: string, faults: readonly string[]) => {
  console.log(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  for (const fault of faults) console.log(`       ${fault}`);
  failed += faults.length === 0 ? 0 : 1;
};

const bounds = { delayAddedMaxMs: 10 };
const system = await System.start();
try {
  const appId = await deploySleepyApp(system);
  for (const scenario of [...labScenarios(size), ...installedServers(size), ...liveScenarios(size)]) {
    const refusable = REFUSABLE.find((each) => each.scenario === scenario.plan.scenario);
    const isPossible = refusable === undefined || (await refusable.probe());
    const { name, run, faults } = await runScenario(system, appId, scenario, bounds);
    if (refusable !== undefined && !isPossible) {
      scenarios += 1;
      const message = run.failureMessage ?? '';
      if (run.state === 'failed' && message.includes(refusable.reason)) {
        refused += 1;
        console.log(`refused ${name}: ${message}`);
      } else report(name, [`this machine can't run it, and it ${run.state}: ${message}`]);
      continue;
    }
    scenarios += 1;
    rows += run.rows.length;
    report(`${name}: ${run.rows.length} rows`, faults);
    for (const { target, version, skipped } of run.programs) {
      console.log(`       ${target}: ${skipped === null ? version : `not measured: ${skipped}`}`);
    }
  }
  report('recovery of an injected delay and injected errors', await recoveryFaults(system, appId, bounds));
} finally {
  await system.stop();
}
console.log(`load of the machine ${loadavg()[0]?.toFixed(2)}`);
console.log(`scenarios ${scenarios}, rows ${rows}, refused with reason ${refused}, failed ${failed}`);
process.exitCode = failed === 0 && rows > 0 ? 0 : 1;
