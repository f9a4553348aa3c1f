// `npm run check:kills`: SIGKILL for worker, gateway, agent `run`, agent `proxy`, an instance's shim and the database,
// each at each step of a deployment, under load. `-- run/health …` selects cases.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { openGates } from '../system/harness/gates.ts';
import { System } from '../system/harness/system.ts';
import { type Kill, KillDrill, STEPS } from './drill.ts';
import { VICTIMS } from './victims.ts';

// limbo: a deployment that is neither live nor failed after its own deadline and the next sweep. failed: a request that
// was not answered 200 and complete, unless the killed process carried it; a wrong release afterwards; or a server that
// did not come to rest. Carried by the proxy: requests on connections from before its death. Carried by a shim with its
// app: WebSockets and requests from before the app's end. The others carry nothing.

const { positionals } = parseArgs({ allowPositionals: true });
// Victims vary fastest: a service that is killed twice in a minute restarts with growing backoff.
const all: Kill[] = STEPS.flatMap((step) => VICTIMS.map((victim) => ({ victim, step })));
const chosen = all.filter(
  ({ victim, step }) =>
    positionals.length === 0 || positionals.some((name) => [`${victim}/${step}`, victim, step].includes(name)),
);
const gates = await openGates();
const system = await System.start({ durable: true });
let [limbo, failed, carried] = [0, 0, 0];
try {
  const drill = await KillDrill.start(system, gates);
  for (const kill of chosen) {
    const startedAt = performance.now();
    const result = await drill.run(kill);
    if (result.ended === 'limbo') limbo++;
    failed += result.failures.length;
    carried += result.carried;
    const mark = result.ended === 'limbo' || result.failures.length > 0 ? 'FAIL' : 'ok  ';
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${mark} ${kill.victim} at ${kill.step}: ${result.ended}, ${result.carried} carried, ${seconds} s`);
    for (const failure of result.failures) console.log(`       ${failure}`);
  }
  await drill.stop();
  console.log(
    `requests ${drill.requests}, carried by what was killed ${carried}; load of the machine: ${loadavg().join(' ')}`,
  );
} finally {
  await system.stop();
  await gates.close();
}
console.log(`kills ${chosen.length}, limbo ${limbo}, failed ${failed}`);
process.exitCode = limbo === 0 && failed === 0 && chosen.length > 0 ? 0 : 1;
