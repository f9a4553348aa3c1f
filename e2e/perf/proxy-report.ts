// Turns the rows of `fairlead-agent bench --json` into medians, ratios and a table with targets.
import type { Cell, Target } from './cells.ts';
import type { Failure } from './measure.ts';
import { MAINLINE } from './peers.ts';

const NGINX = 'nginx';
/** Baseline for each path: Debian's nginx, or a newer one that takes part. */
const BASELINES: Readonly<Record<AppPath, readonly string[]>> = {
  loopback: [MAINLINE, NGINX],
  'unix-socket': ['nginx_unix'],
};
const KIB = 1024;

/** Path of a proxy to its app. A ratio compares rows of the same path only. */
export type AppPath = 'loopback' | 'unix-socket';

/** Row of one round of one proxy in one cell. */
export interface Row {
  readonly cell: string;
  readonly name: string;
  readonly mode: string;
  /** Part of a deployment under load. */
  readonly phase?: 'before' | 'during' | 'after';
  /** Measured time. */
  readonly seconds: number;
  /** Path of the proxy to the app. */
  readonly app_path: AppPath;
  readonly clients: number;
  readonly requests: number;
  readonly requests_per_second: number;
  readonly errors: number;
  readonly resumed: number;
  readonly p50_us: number | null;
  readonly p99_us: number | null;
  readonly cpu_us_per_request: number | null;
  readonly generator_cpu_us_per_request: number | null;
  readonly generator_saturated: boolean;
  readonly memory_before_bytes: number | null;
  readonly memory_bytes: number | null;
  /** Round of the cell, from 0. */
  readonly round: number;
  /** Errors by kind. */
  readonly failures: Readonly<Record<string, number>>;
  /** Non-empty buckets as (index, count). */
  readonly latency: { readonly buckets: readonly (readonly [number, number])[]; readonly sum_us: number };
}

export interface Figure {
  readonly cell: string;
  readonly proxy: string;
  readonly path: AppPath;
  readonly metric: string;
  readonly value: number;
  /** Ratio to the baseline in the same cell by the same path; null for the baseline itself and if none takes part. */
  readonly ratio: number | null;
}

interface Metric {
  readonly name: string;
  readonly heading: string;
  readonly digits: number;
  /** Returns the figure of a row; undefined if the mode has none. */
  readonly of: (row: Row) => number | null | undefined;
  /** Aggregates over rounds. Default: the median. */
  readonly over?: (values: readonly number[]) => number;
}

const isIdle = (row: Row) => row.mode === 'idle';
const isConnectionEach = (row: Row) => row.mode === 'fresh' || row.mode === 'resumed';
const unlessIdle = (pick: (row: Row) => number | null) => (row: Row) => (isIdle(row) ? undefined : pick(row));

const inKib = (bytes: number | null) => (bytes === null ? null : bytes / KIB);

/** Returns the memory that a client added. */
function grown({ memory_bytes: after, memory_before_bytes: before, clients }: Row): number | null {
  return after === null || before === null ? null : (after - before) / clients;
}

const METRICS: readonly Metric[] = [
  { name: 'cpu_us_per_request', heading: 'CPU µs/req', digits: 1, of: unlessIdle((row) => row.cpu_us_per_request) },
  { name: 'requests_per_second', heading: 'req/s', digits: 0, of: unlessIdle((row) => row.requests_per_second) },
  { name: 'p50_us', heading: 'p50 µs', digits: 0, of: unlessIdle((row) => row.p50_us) },
  { name: 'p99_us', heading: 'p99 µs', digits: 0, of: unlessIdle((row) => row.p99_us) },
  { name: 'errors', heading: 'errors', digits: 0, of: (row) => row.errors, over: (values) => sum(values) },
  { name: 'pss_kib', heading: 'PSS KiB', digits: 0, of: (row) => inKib(row.memory_bytes) },
  {
    name: 'cpu_us_per_connection',
    heading: 'CPU µs/conn',
    digits: 1,
    of: (row) => (isConnectionEach(row) ? row.cpu_us_per_request : undefined),
  },
  {
    name: 'resumed_share',
    heading: 'resumed',
    digits: 2,
    of: (row) => (isConnectionEach(row) ? row.resumed / row.requests : undefined),
  },
  {
    name: 'idle_kib_per_connection',
    heading: 'KiB/idle conn',
    digits: 2,
    of: (row) => (isIdle(row) ? inKib(grown(row)) : undefined),
  },
  {
    name: 'generator_cpu_us_per_request',
    heading: 'client µs/req',
    digits: 1,
    of: unlessIdle((row) => row.generator_cpu_us_per_request),
  },
  { name: 'clients', heading: 'clients', digits: 0, of: (row) => row.clients, over: (values) => Math.min(...values) },
];

/** Returns the name of a row's cell, with the part of a deployment. */
export function cellOf({ cell, phase }: Pick<Row, 'cell' | 'phase'>): string {
  return phase === undefined ? cell : `${cell} ${phase}`;
}

/** Returns the baseline of a path among the proxies that take part; undefined if there is none. */
export function baselineOf(path: AppPath, proxies: ReadonlySet<string>): string | undefined {
  return BASELINES[path].find((name) => proxies.has(name));
}

/** Returns every metric of every proxy in every cell, aggregated over its rounds. */
export function figures(rows: readonly Row[]): Figure[] {
  const found: Figure[] = [];
  for (const cell of new Set(rows.map(cellOf))) {
    const within = rows.filter((row) => cellOf(row) === cell);
    const proxies = new Set(within.map((row) => row.name));
    for (const proxy of proxies) {
      for (const metric of METRICS) {
        const value = overRounds(metric, within, proxy);
        if (value === undefined) continue;
        const path = within.find((row) => row.name === proxy)?.app_path ?? 'loopback';
        const baseline = baselineOf(path, proxies);
        const peer = baseline === undefined || proxy === baseline ? undefined : overRounds(metric, within, baseline);
        found.push({
          cell,
          proxy,
          path,
          metric: metric.name,
          value,
          ratio: peer === undefined || peer === 0 ? null : value / peer,
        });
      }
    }
  }
  return found;
}

function overRounds(metric: Metric, rows: readonly Row[], proxy: string): number | undefined {
  const picked = rows.filter((row) => row.name === proxy).map(metric.of);
  const values = picked.filter((value) => value !== undefined && value !== null);
  return values.length === 0 ? undefined : (metric.over ?? median)(values);
}

export function formatCell(cell: Cell, found: readonly Figure[], failures: readonly Failure[]): string {
  const within = found.filter((figure) => figure.cell === cell.name);
  const metrics = METRICS.filter((metric) => within.some((figure) => figure.metric === metric.name));
  const table = [['', 'path to the app', ...metrics.map((metric) => metric.heading)]];
  for (const proxy of new Set(within.map((figure) => figure.proxy))) {
    const texts = metrics.map(({ name, digits }) => {
      const figure = within.find((each) => each.proxy === proxy && each.metric === name);
      if (figure === undefined) return '-';
      const value = figure.value.toFixed(digits);
      return figure.ratio === null ? value : `${value} (${figure.ratio.toFixed(2)})`;
    });
    table.push([proxy, within.find((each) => each.proxy === proxy)?.path ?? '', ...texts]);
  }
  const widths = table[0]?.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0))) ?? [];
  const lines = table.map((line) =>
    `  ${line.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd(),
  );
  const failed = failures
    .filter((failure) => failure.cell === cell.name)
    .map(({ proxy, reason }) => `  ${proxy}: FAILED: ${reason}`);
  const targets = cell.targets.flatMap((target) => targetLine(target, within) ?? []);
  return [`${cell.name}: ${cell.what}`, ...lines, ...failed, ...targets].join('\n');
}

function targetLine(given: Target, within: readonly Figure[]): string | undefined {
  const proxies = new Set(within.map(({ proxy }) => proxy));
  const target = given.against === NGINX ? { ...given, against: baselineOf('loopback', proxies) ?? NGINX } : given;
  const of = (proxy: string) => within.find((figure) => figure.proxy === proxy && figure.metric === target.metric);
  const subject = target.of ?? 'fairlead';
  const [own, other] = [of(subject), target.against === undefined ? undefined : of(target.against)];
  if (own !== undefined && other !== undefined && own.path !== other.path) {
    throw new Error(`${subject} and ${target.against} reach their apps by different paths`);
  }
  const [ours, theirs] = [own?.value, target.against === undefined ? 1 : other?.value];
  const sign = target.atLeast ? '≥' : '≤';
  const goal = target.goal === undefined ? '' : `, goal ${sign} ${target.goal}`;
  const what = `${subject === 'fairlead' ? '' : `${subject}: `}${target.metric}${target.against === undefined ? '' : ` ÷ ${target.against}'s`} ${sign} ${target.required}${goal}`;
  if (ours === undefined || theirs === undefined) return `  target ${what}: not measured`;
  const value = ours / theirs;
  const keeps = (bound: number) => (target.atLeast ? value >= bound : value <= bound);
  const verdict = keeps(target.required)
    ? target.goal === undefined || keeps(target.goal)
      ? 'met'
      : 'met, goal missed'
    : 'MISSED';
  return `  target ${what}: ${value.toFixed(2)}: ${verdict}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper;
}
