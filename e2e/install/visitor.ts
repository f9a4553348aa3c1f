// Visitor of the install check: `node visitor.ts HOST ADDRESS PORT CA-FILE`, run on a machine of its own. Sends requests until
// its standard input ends, then prints what came of them as JSON.
import { once } from 'node:events';
import { startTraffic } from '../../tools/lib/traffic.ts';

const [host = '', address = '', port = '', caFile = ''] = process.argv.slice(2);
const target = { host, address, port: Number(port), caFile, path: '/' };
const loads = [
  startTraffic({ ...target, connections: 2 }),
  startTraffic({ ...target, connections: 1, keepAlive: false }),
];
process.stdin.resume();
await once(process.stdin, 'end');
const results = await Promise.all(loads.map((load) => load.stop()));
const answered = results.reduce((sum, result) => sum + result.answered, 0);
const reasons = results.flatMap((result) => result.failures.map(({ reason }) => reason));
console.log(JSON.stringify({ answered, reasons }));
