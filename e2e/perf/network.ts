// `npm run perf:network`: measures the cost of an app's own network for its start and for new connections, beside an
// app that shares the server's network. Prints medians with 95 % intervals and asserts none.
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { measureNetworks, PROFILE } from './network-test.ts';
import { type Interval, medianInterval } from './statistics.ts';

// Runs a test of the runtime with interleaved pairs, with the agent's own shims and hand-over. Needs root and nftables.
// `-- --rounds N`; `-- --profile dev` uses the build of the tests.

const TEST = 'measure::starts_and_new_connections_work_alike_in_either_network';
const KINDS = [
  ['Plain', 'shared network'],
  ['Single', 'own network, one socket a request'],
  ['Batch', 'own network, sockets in batches'],
] as const;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '30' },
    profile: { type: 'string', default: PROFILE },
    /** Time limit of the test. */
    minutes: { type: 'string', default: '10' },
  },
});

const lines = await measureNetworks(TEST, {
  profile: options.profile,
  env: { FAIRLEAD_NETWORK_ROUNDS: options.rounds },
  minutes: Number(options.minutes),
});
const starts = lines.flatMap((line) => {
  const [, shared, own] = /^start \d+ shared (\d+) own (\d+)$/.exec(line) ?? [];
  return shared === undefined ? [] : [{ shared: Number(shared) / 1000, own: Number(own) / 1000 }];
});
const connections = lines.flatMap((line) => {
  const [, round, kind, latency, cpu] = /^connect (\d+) (\w+) latency ([\d.]+) cpu ([\d.]+)$/.exec(line) ?? [];
  return round === undefined ? [] : [{ round: Number(round), kind, latency: Number(latency), cpu: Number(cpu) }];
});
if (starts.length !== Number(options.rounds)) throw new Error(`${starts.length} rounds of ${options.rounds} were made`);

const load = loadavg()[0]?.toFixed(2);
console.log(`${new Date().toISOString()}: ${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, load ${load}`);
console.log(`${starts.length} pairs, profile ${options.profile}; medians with 95 % intervals\n`);

console.log('start of an instance, until it is healthy');
print('shared network', medianInterval(starts.map(({ shared }) => shared)), 'ms');
print('own network', medianInterval(starts.map(({ own }) => own)), 'ms');
print('difference in pairs', medianInterval(starts.map(({ shared, own }) => own - shared)), 'ms');

for (const [name, what] of [
  ['latency', 'new connection: time until it is made'],
  ['cpu', 'new connection: CPU of client, shim and app'],
] as const) {
  console.log(`\n${what}`);
  const of = (kind: string) => connections.filter((each) => each.kind === kind).sort((a, b) => a.round - b.round);
  const plain = of('Plain');
  for (const [kind, label] of KINDS) {
    const own = of(kind);
    print(label, medianInterval(own.map((each) => each[name])), 'µs');
    if (kind === 'Plain') continue;
    const differences = own.map((each, index) => each[name] - (plain[index]?.[name] ?? Number.NaN));
    print('  difference in pairs', medianInterval(differences), 'µs');
  }
}

function print(what: string, { median, low, high }: Interval, unit: string): void {
  const [middle, from, to] = [median, low, high].map((value) => value.toFixed(2));
  console.log(`  ${what.padEnd(36)} ${`${middle} ${unit}`.padStart(12)}  (${from} to ${to})`);
}
