// Fairness suite: compares the latency of small requests beside bulk transfers on the same core with nginx's in the
// same rounds.
import { join } from 'node:path';
import { run } from '../../tools/lib/command.ts';
import type { Protocol } from '../perf/cells.ts';
import type { Running } from '../perf/peer.ts';
import type { Testbed } from './testbed.ts';

const PROTOCOLS: readonly Protocol[] = ['http1', 'http2', 'http3'];
const BULK = [
  { name: '1 download', bulk: 'download', clients: 1 },
  { name: '8 downloads', bulk: 'download', clients: 8 },
  { name: '8 uploads', bulk: 'upload', clients: 8 },
  { name: 'compression', bulk: 'page', clients: 1 },
  { name: '500 slow readers', bulk: 'slow', clients: 500 },
] as const;

/** A p99 below this is good enough: 1 ms against 0.3 ms is not unfair. */
const FLOOR_MS = 20;
/** Bulk that one core moves in dozens of its turns; the median of a starved client is hundreds of MB. */
export const BULK_BYTES_MAX = 64 * 1024 * 1024;

/** Parsed output of `client load`. */
interface Load {
  readonly requests: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly bulkBytesMedian: number;
  readonly bulkBytes: number;
}

export interface FairnessCell {
  readonly name: string;
  readonly ours: readonly Load[];
  readonly nginx: readonly Load[];
  /** Ratio of our median p99 to nginx's, both at least `FLOOR_MS`. */
  readonly ratio: number;
  readonly failed: number;
}

export interface FairnessPlan {
  readonly rounds: number;
  readonly seconds: number;
  /** Selects cells by the start of their bulk's name; all if empty. */
  readonly bulk: readonly string[];
}

export async function measureFairness(
  testbed: Testbed,
  proxies: { readonly fairlead: Running; readonly nginx: Running },
  plan: FairnessPlan,
  note: (line: string) => void,
): Promise<FairnessCell[]> {
  const cells: FairnessCell[] = [];
  const chosen = BULK.filter(({ name }) => plan.bulk.length === 0 || plan.bulk.includes(name));
  for (const { name, bulk, clients } of chosen) {
    for (const protocol of PROTOCOLS) {
      const ours: Load[] = [];
      const nginx: Load[] = [];
      const load = (running: Running, over: Protocol) =>
        measure(testbed, running, ['-protocol', over, '-bulk', bulk, '-clients', `${clients}`], plan.seconds);
      for (let round = 0; round < plan.rounds; round += 1) {
        ours.push(await load(proxies.fairlead, protocol));
        nginx.push(await load(proxies.nginx, protocol === 'http3' ? 'http2' : protocol));
      }
      const [our, other] = [median(ours.map(({ p99Ms }) => p99Ms)), median(nginx.map(({ p99Ms }) => p99Ms))];
      const failed = ours.reduce((sum, each) => sum + each.failed, 0);
      const cell = { name: `${name}, ${protocol}`, ours, nginx, ratio: floored(our) / floored(other), failed };
      cells.push(cell);
      note(row(cell));
    }
  }
  return cells;
}

async function measure(testbed: Testbed, running: Running, what: readonly string[], seconds: number): Promise<Load> {
  const ca = join(testbed.certificate, 'leaf.pem');
  const args = ['load', '-connect', running.https, '-ca', ca, '-duration', `${seconds}s`, ...what];
  const { code, stdout, output } = await run(testbed.client, args);
  if (code !== 0) throw new Error(`${what.join(' ')}: ${output.trim()}`);
  return JSON.parse(stdout);
}

function floored(ms: number): number {
  return Math.max(ms, FLOOR_MS);
}

function row({ name, ours, nginx, ratio, failed }: FairnessCell): string {
  const figures = (loads: readonly Load[], seconds = loads.length) => {
    const rate = loads.reduce((sum, { bulkBytes }) => sum + bulkBytes, 0) / seconds / 1e6;
    const ms = (of: (load: Load) => number) => median(loads.map(of)).toFixed(1).padStart(8);
    return `p50 ${ms(({ p50Ms }) => p50Ms)} p99 ${ms(({ p99Ms }) => p99Ms)} ms, bulk ${rate.toFixed(0).padStart(5)} MB a round`;
  };
  const told = failed > 0 ? `, ${failed} FAILED` : '';
  return `${name.padEnd(24)} ${figures(ours)}; nginx ${figures(nginx)}; ratio ${ratio.toFixed(2)}${told}`;
}

/** Returns the median; the mean of two for an even number of values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}
