// `npm run check:deploys`: a hundred deployments, rollbacks, restarts and scalings of an app on a real agent under
// steady load, in about fifteen minutes. Exits with 1 on any failure; `-- --rounds N` runs four times N operations.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { System } from '../system/harness/system.ts';
import { drillDeploys } from './drill.ts';

// A request fails if it is not answered 200 and complete within 20 s. A WebSocket fails if it is closed other than by
// the client or with 1001 or 1012, or if an echo is wrong. A deployment fails if it does not end as expected.

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '25' } } });
const system = await System.start();
try {
  const { deployments, problems, load } = await drillDeploys(system, {
    rounds: Number(values.rounds),
    note: (line) => console.log(line),
  });
  for (const problem of problems) console.log(`FAIL ${problem}`);
  for (const { kind, reason } of load.failures) console.log(`FAIL ${kind}: ${reason}`);
  console.log(`WebSockets sent away with 1001 or 1012: ${load.sentAway}; load of the machine: ${loadavg().join(' ')}`);
  const failed = load.failures.length + problems.length;
  console.log(`deployments ${deployments}, requests ${load.requests}, failed ${failed}`);
  process.exitCode = failed === 0 && deployments > 0 && load.requests > 0 ? 0 : 1;
} finally {
  await system.stop();
}
