// `npm run check:deploys`: a hundred deployments, rollbacks, restarts and scalings of an app on a real agent under steady load.
// A request counts as failed that was not answered 200 and whole within 20 s; a WebSocket that was closed otherwise than by
// us or with 1001 or 1012, or whose echo was wrong; and a deployment that did not end as it should. About fifteen minutes;
// `-- --rounds N` does four times N of them.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { System } from '../system/harness/system.ts';
import { drillDeploys } from './drill.ts';

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
