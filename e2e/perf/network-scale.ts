// `npm run check:network-scale`: starts a thousand instances in networks of their own on one server, reaches all of
// them, and checks that nothing is left after they stop. `-- --count N` runs fewer.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { measureNetworks, PROFILE } from './network-test.ts';
import { medianInterval } from './statistics.ts';

// Needs root, nftables, and about 10 MB of memory for each instance. Last line: `networks N, left L`: devices, routes,
// rules and namespaces of the machine beyond those from before.

const TEST = 'measure::many_instances_have_networks_of_their_own_and_leave_nothing';
const MIB = 1024 * 1024;
/** Time to settle: other programs of the machine may start and end meanwhile. */
const SETTLE_MS = 30_000;
const POLL_MS = 500;

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    profile: { type: 'string', default: PROFILE },
    minutes: { type: 'string', default: '60' },
  },
});

const before = counts();
const lines = await measureNetworks(TEST, {
  profile: options.profile,
  env: { FAIRLEAD_NETWORKS: options.count },
  minutes: Number(options.minutes),
});
const portions = lines.flatMap((line) => {
  const [, started, each] = /^started (\d+) each (\d+)$/.exec(line) ?? [];
  return started === undefined ? [] : [{ started: Number(started), ms: Number(each) / 1000 }];
});
const [, shims, rss, pss] = /^shims (\d+) rss (\d+) pss (\d+)$/m.exec(lines.join('\n')) ?? [];
if (shims !== options.count || !lines.includes('left 0')) throw new Error(`figures are missing:\n${lines.join('\n')}`);

const { median, low, high } = medianInterval(portions.map(({ ms }) => ms));
const [first, last] = [portions[0], portions.at(-1)];
console.log(`${new Date().toISOString()}: load ${loadavg()[0]?.toFixed(2)}, profile ${options.profile}`);
console.log(
  `time a start: ${median.toFixed(0)} ms (${low.toFixed(0)} to ${high.toFixed(0)}); first ${first?.ms.toFixed(0)} ms, last ${last?.ms.toFixed(0)} ms`,
);
console.log(`a shim: RSS ${(Number(rss) / MIB).toFixed(2)} MiB, PSS ${(Number(pss) / MIB).toFixed(2)} MiB`);

let after = counts();
for (const until = performance.now() + SETTLE_MS; left(after) > 0 && performance.now() < until; after = counts()) {
  await delay(POLL_MS);
}
for (const [what, count] of Object.entries(after)) console.log(`${what}: ${before[what]} before, ${count} after`);
console.log(`networks ${shims}, left ${left(after)}`);
process.exitCode = left(after) === 0 ? 0 : 1;

function left(now: Readonly<Record<string, number>>): number {
  return Object.entries(now).reduce((sum, [what, count]) => sum + Math.max(0, count - (before[what] ?? 0)), 0);
}

/** Counts the resources of the whole machine. */
function counts(): Record<string, number> {
  const lineCount = (text: string) => text.split('\n').filter((line) => line.trim() !== '').length;
  return {
    devices: readdirSync('/sys/class/net').length,
    routes:
      lineCount(readFileSync('/proc/net/route', 'utf8')) + lineCount(readFileSync('/proc/net/ipv6_route', 'utf8')),
    rules: lineCount(execFileSync('nft', ['-s', 'list', 'ruleset'], { encoding: 'utf8' })),
    namespaces: new Set(readdirSync('/proc').flatMap(namespaceOf)).size,
  };
}

function namespaceOf(process: string): string[] {
  if (!/^\d+$/.test(process)) return [];
  try {
    return [readlinkSync(`/proc/${process}/ns/net`)];
  } catch {
    // The process has ended meanwhile.
    return [];
  }
}
