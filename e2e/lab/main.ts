// `npm run check:lab`: runs every scenario of the benchmark lab in its short form, through the control plane and a real agent.
// `-- --size small` runs the sizes of `npm test`.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { AppId } from '@fairlead/contract/ids';
import { HAPROXY, NGINX, requirePrograms } from '../../tools/test/debian.ts';
import { respondingApp } from '../system/harness/apps.ts';
import { System } from '../system/harness/system.ts';
import { recoveryFaults } from './recovery.ts';
import { REFUSABLE } from './refused.ts';
import { runScenario } from './run-scenario.ts';
import { labScenarios, liveScenarios, SHORT, SMALL } from './scenarios.ts';

const { values: options } = parseArgs({ options: { size: { type: 'string', default: 'short' } } });
const size = options.size === 'small' ? SMALL : SHORT;
const missing = await requirePrograms([NGINX, HAPROXY]);
if (missing !== undefined) throw new Error(missing);

let [scenarios, rows, refused, failed] = [0, 0, 0, 0];
const report = (name: string, faults: readonly string[]) => {
  console.log(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  for (const fault of faults) console.log(`       ${fault}`);
  failed += faults.length === 0 ? 0 : 1;
};

const system = await System.start();
try {
  const appId = await deploy(system);
  for (const scenario of [...labScenarios(size), ...liveScenarios(size)]) {
    const { name, run, faults } = await runScenario(system, appId, scenario);
    scenarios += 1;
    rows += run.rows.length;
    report(`${name}: ${run.rows.length} rows`, faults);
    for (const { target, version, skipped } of run.programs) {
      console.log(`       ${target}: ${skipped === null ? version : `not measured: ${skipped}`}`);
    }
  }
  report(
    'recovery of an injected delay and injected errors',
    await recoveryFaults(system, appId, { delayAddedMaxMs: 10 }),
  );
} finally {
  await system.stop();
}
for (const { name, reason, probe } of REFUSABLE) {
  scenarios += 1;
  if (await probe()) report(name, ["this machine could run it, and Fairlead can't"]);
  else {
    refused += 1;
    console.log(`refused ${name}: ${reason}`);
  }
}
console.log(`load of the machine ${loadavg()[0]?.toFixed(2)}`);
console.log(`scenarios ${scenarios}, rows ${rows}, refused with reason ${refused}, failed ${failed}`);
process.exitCode = failed === 0 && rows > 0 ? 0 : 1;

async function deploy(on: System): Promise<AppId> {
  const deployment = await on.createApp('lab', await on.repositories.create('lab', respondingApp('hello')));
  if (deployment.state !== 'live') throw new Error(`the lab's app is ${deployment.state}`);
  return (await on.app('lab')).id;
}
