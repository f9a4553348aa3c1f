// Aggregates the rows of a benchmark run for its charts and its table: medians and ratios of proxy to direct, with their
// intervals. Pure.

import { otherShare, stealShare } from '@fairlead/core/benchmark/noise';
import type { BenchmarkPlan } from '@fairlead/core/benchmark/schema';
import {
  type Estimate,
  estimate,
  isDifferent,
  isReproducible,
  median,
  pairedRatio,
} from '@fairlead/core/benchmark/statistics';
import type { Measurement } from '@fairlead/ui/charts/prepare/multiples';
import type { Formats } from '@fairlead/ui/formats';
import type { AppSummary, BenchmarkDetail } from '../../api/types.ts';
import { appLook } from '../../common/deployment/states.ts';

export type ResultRow = BenchmarkDetail['rows'][number];

export const targetLabel: Record<ResultRow['target'], string> = {
  proxy: 'Fairlead',
  direct: 'Direct',
  floor: 'Floor',
  nginx: 'nginx',
  haproxy: 'HAProxy',
  envoy: 'Envoy',
  caddy: 'Caddy',
  traefik: 'Traefik',
  h2o: 'h2o',
  'kamal-proxy': 'kamal-proxy',
  spooky: 'Spooky',
  godoxy: 'GoDoxy',
};
export const benchmarkTargets = Object.keys(targetLabel) as ResultRow['target'][];
export const protocolLabel: Record<ResultRow['protocol'], string> = {
  http1: 'HTTP/1.1',
  http2: 'HTTP/2',
  http3: 'HTTP/3',
  'http1-cleartext': 'HTTP/1.1 without TLS',
  grpc: 'gRPC',
};

export const scenarioLabel: Record<BenchmarkPlan['scenario'], string> = {
  matrix: 'Matrix',
  burst: 'Burst',
  'slow-upstream': 'Slow upstream',
  'greedy-client': 'Greedy client',
  deploy: 'Deploy under load',
  'route-change': 'Route changes',
  'proxy-upgrade': 'Proxy upgrade',
  latency: 'Latency probes',
  'packet-loss': 'Packet loss',
  wake: 'Wake from zero',
};
export const scenarioHint: Record<BenchmarkPlan['scenario'], string> = {
  matrix: 'Every target, protocol and concurrency in turn.',
  burst: 'Ten times the requests per second for one phase.',
  'slow-upstream': 'As many clients again wait for slow responses.',
  'greedy-client': 'Eight clients download large responses beside the others.',
  deploy: 'The live release is deployed again while requests arrive.',
  'route-change': 'The proxy gets a different route table ten times a second.',
  'proxy-upgrade': 'A new proxy process takes over while requests arrive.',
  latency: 'Latency of JSON, uploads, streams, server-sent events and WebSocket messages.',
  'packet-loss': 'The link to the proxies loses and delays packets for one phase.',
  wake: 'The app sleeps before each row. The first request of each client wakes it.',
};
export const labServerLabel: Record<BenchmarkPlan['labApp']['server'], string> = {
  own: 'Own app',
  'node-cluster': 'Node.js cluster',
  uvicorn: 'Uvicorn',
  puma: 'Puma',
  release: 'Copy of the live release',
};
export const phaseLabel: Record<NonNullable<ResultRow['phase']>, string> = {
  before: 'Before',
  during: 'During',
  after: 'After',
  'stage-1': 'Stage 1',
  'stage-2': 'Stage 2',
  'stage-3': 'Stage 3',
  'stage-4': 'Stage 4',
  'stage-5': 'Stage 5',
  'stage-6': 'Stage 6',
  'stage-7': 'Stage 7',
  'stage-8': 'Stage 8',
  'stage-9': 'Stage 9',
  'stage-10': 'Stage 10',
};

export const probeLabel: Record<NonNullable<ResultRow['probe']>, string> = {
  json: 'JSON',
  upload: 'Upload',
  'stream-first-byte': 'First byte',
  stream: 'Whole stream',
  sse: 'SSE event',
  websocket: 'WebSocket echo',
};

export const networkPathLabel: Record<NonNullable<ResultRow['networkPath']>, string> = {
  'shared-network': 'Shared network',
  'own-network': 'Own network',
  'unix-socket': 'Unix socket',
  'bench-namespace': 'Bench namespace',
  'between-servers': 'Between servers',
};

/** Returns the network path of all rows; null if they differ or one is unknown. */
export function pathOf(rows: readonly Pick<ResultRow, 'networkPath'>[]): ResultRow['networkPath'] {
  const [first, ...others] = new Set(rows.map(({ networkPath }) => networkPath));
  return first === undefined || others.length > 0 ? null : first;
}

/** Colors of targets, the same in charts and tables. Other proxies than nginx and HAProxy share one: labels name them. */
export const targetColor: Record<ResultRow['target'], string> = {
  proxy: 'var(--series-orange)',
  direct: 'var(--series-blue)',
  floor: 'var(--ink-faint)',
  nginx: 'var(--series-teal)',
  haproxy: 'var(--series-violet)',
  envoy: 'var(--series-grey)',
  caddy: 'var(--series-grey)',
  traefik: 'var(--series-grey)',
  h2o: 'var(--series-grey)',
  'kamal-proxy': 'var(--series-grey)',
  spooky: 'var(--series-grey)',
  godoxy: 'var(--series-grey)',
};

/** Apps speak HTTP/1.1: a protocol without direct rows of its own is compared with these. */
export const referenceLabel = 'Direct 1.1';

type Measure = (row: ResultRow) => number | null;

/** Returns a chart point for each row; skips rows without the measure. */
export function measurementsOf(rows: readonly ResultRow[], measure: Measure): Measurement[] {
  const of = (some: readonly ResultRow[], panel: string, seriesOf: (row: ResultRow) => string) =>
    some.flatMap((row) => {
      const value = measure(row);
      return value === null ? [] : [{ panel, series: seriesOf(row), x: row.concurrency, value }];
    });
  const protocols = [...new Set(rows.map((row) => row.protocol))];
  const reference = rows.filter((row) => row.target === 'direct' && row.protocol === 'http1');
  if (rows.some((row) => row.phase !== null || row.probe !== null)) {
    return rows.flatMap((row) => of([row], panelOf(row), () => targetLabel[row.target]));
  }
  return protocols.flatMap((protocol) => {
    const own = rows.filter((row) => row.protocol === protocol);
    const drawn = of(own, protocolLabel[protocol], (row) => targetLabel[row.target]);
    if (own.some((row) => row.target === 'direct')) return drawn;
    return [...drawn, ...of(reference, protocolLabel[protocol], () => referenceLabel)];
  });
}

/** Rows of a scenario are drawn by phase or probe. */
function panelOf({ protocol, phase, probe }: ResultRow): string {
  if (probe !== null) return `${protocolLabel[protocol]}, ${probeLabel[probe]}`;
  return phase === null ? protocolLabel[protocol] : `${protocolLabel[protocol]}, ${phaseLabel[phase].toLowerCase()}`;
}

/** Returns successes ÷ (successes + failures), from 0 to 1; null without either. `requests` counts successes only. */
export function successRate({ requests, errors }: Pick<ResultRow, 'requests' | 'errors'>): number | null {
  const total = requests + errors;
  return total === 0 ? null : requests / total;
}

/** Returns the number of cores that a load generator used; null if its CPU time is not known. */
export function generatorCores({
  generatorCpuUs,
  durationMs,
}: Pick<ResultRow, 'generatorCpuUs' | 'durationMs'>): number | null {
  return generatorCpuUs === 0 || durationMs === 0 ? null : generatorCpuUs / (durationMs * 1000);
}

export interface ResultLine {
  readonly key: string;
  readonly protocol: ResultRow['protocol'];
  readonly target: ResultRow['target'];
  readonly networkPath: ResultRow['networkPath'];
  readonly concurrency: number;
  /** Null: a cell of a matrix. */
  readonly phase: ResultRow['phase'];
  /** Null: plain requests. */
  readonly probe: ResultRow['probe'];
  readonly repeats: number;
  readonly requestsPerSecond: number;
  /** Interval of the throughput; null with fewer than three rounds. */
  readonly interval: Estimate | null;
  /** Ratio to the baseline's throughput by the same path, phase and concurrency; null without such rows. */
  readonly ratio: number | null;
  /** Interval of the ratio; null with fewer than three rounds. */
  readonly ratioInterval: Estimate | null;
  readonly successRate: number | null;
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p99Ms: number | null;
  readonly errors: number;
  readonly cpuUsPerRequest: number | null;
  readonly memoryBytes: number | null;
  /** Cores that the load generators used; null if their CPU time is not known. */
  readonly generatorCores: number | null;
  /** Rounds in which a load generator limited the result. */
  readonly saturated: number;
  /** Share of other processes in the CPU of the machine; null if it is not known. */
  readonly otherShare: number | null;
  /** Share of stolen time in the CPU of the machine; null if it is not known. */
  readonly stealShare: number | null;
}

/** Returns the target that others are compared with: nginx in the lab, else the app itself. */
export function baselineOf(rows: readonly ResultRow[]): ResultRow['target'] {
  return rows.some(({ target }) => target === 'nginx') ? 'nginx' : 'direct';
}

/** Returns the rows of each cell: the same protocol, concurrency, phase, probe, target and network path in all rounds. */
export function groupCells(rows: readonly ResultRow[]): ReadonlyMap<string, readonly ResultRow[]> {
  return Map.groupBy(rows, (row) => cellKey(row, row.protocol, row.target));
}

/** Returns a line per cell and network path, medians over its repeats; the proxy's line comes before the direct one. */
export function summariseRows(rows: readonly ResultRow[]): ResultLine[] {
  const cells = groupCells(rows);
  const reference = baselineOf(rows);
  const lines = [...cells].map(([key, cell]) => summarise(key, cell));
  return lines
    .map((line) => {
      const same = cells.get(cellKey(line, line.protocol, reference));
      // Apps speak HTTP/1.1 only: the proxy's newer protocols are compared with it.
      const baseline = same ?? (reference === 'direct' ? cells.get(cellKey(line, 'http1', 'direct')) : undefined);
      const isCompared = reference === 'direct' ? line.target === 'proxy' : line.target !== reference;
      if (!isCompared || baseline === undefined) return line;
      const direct = throughputsOf(baseline);
      const directMedian = median(direct) ?? 0;
      return {
        ...line,
        ratio: directMedian > 0 ? line.requestsPerSecond / directMedian : null,
        ratioInterval: pairedRatio(throughputsOf(cells.get(line.key) ?? []), direct),
      };
    })
    .sort(
      (left, right) =>
        left.protocol.localeCompare(right.protocol) ||
        left.concurrency - right.concurrency ||
        order(targetLabel, left.target) - order(targetLabel, right.target) ||
        order(phaseLabel, left.phase) - order(phaseLabel, right.phase) ||
        order(probeLabel, left.probe) - order(probeLabel, right.probe),
    );
}

function order(labels: object, name: string | null): number {
  return name === null ? -1 : Object.keys(labels).indexOf(name);
}

/** One for each round, in order. */
function throughputsOf(cell: readonly ResultRow[]): number[] {
  return cell.toSorted((one, other) => one.round - other.round).map((row) => row.requestsPerSecond);
}

function summarise(key: string, cell: readonly ResultRow[]): ResultLine {
  const [first] = cell;
  if (first === undefined) throw new RangeError('a cell has at least one row');
  const of = (measure: Measure) => median(cell.map(measure).filter((value) => value !== null));
  const total = cell.reduce(
    (sum, { requests, errors }) => ({ requests: sum.requests + requests, errors: sum.errors + errors }),
    { requests: 0, errors: 0 },
  );
  return {
    key,
    protocol: first.protocol,
    target: first.target,
    networkPath: first.networkPath,
    concurrency: first.concurrency,
    phase: first.phase,
    probe: first.probe,
    repeats: cell.length,
    requestsPerSecond: of((row) => row.requestsPerSecond) ?? 0,
    interval: estimate(throughputsOf(cell)),
    ratio: null,
    ratioInterval: null,
    successRate: successRate(total),
    p50Ms: of((row) => row.p50Ms),
    p90Ms: of((row) => row.p90Ms),
    p99Ms: of((row) => row.p99Ms),
    errors: total.errors,
    cpuUsPerRequest: of((row) => row.cpuUsPerRequest),
    memoryBytes: of((row) => row.proxyMemoryBytes),
    generatorCores: of(generatorCores),
    saturated: cell.filter(({ generatorSaturated }) => generatorSaturated).length,
    otherShare: of((row) => otherShare(row.noise)),
    stealShare: of((row) => stealShare(row.noise)),
  };
}

export function cellKey(
  { concurrency, networkPath, phase, probe }: Pick<ResultRow, 'concurrency' | 'networkPath' | 'phase' | 'probe'>,
  protocol: ResultRow['protocol'],
  target: ResultRow['target'],
): string {
  return `${protocol} ${concurrency} ${target} ${networkPath} ${phase} ${probe}`;
}

/**
 * Returns the result in one sentence: the latency that the proxy adds at the lowest concurrency with a direct row, where
 * no request queues. Null without such rows, and if their rounds differ too much.
 */
export function headlineOf(rows: readonly ResultRow[], formats: Formats): string | null {
  if (rows.some(({ phase }) => phase !== null)) return eventHeadline(rows, formats);
  if (rows.some(({ probe }) => probe !== null)) return probeHeadline(rows, formats);
  return baselineOf(rows) === 'nginx' ? labHeadline(rows, formats) : appHeadline(rows, formats);
}

/** Returns failed requests during the event, and what it did to p99 latency through Fairlead's proxy. */
function eventHeadline(rows: readonly ResultRow[], { formatMs, plural }: Formats): string | null {
  const lines = summariseRows(rows).filter(({ target }) => target === 'proxy');
  const [before, during] = (['before', 'during'] as const).map((phase) => lines.find((line) => line.phase === phase));
  if (before?.p99Ms == null || during?.p99Ms == null) return null;
  const failed = during.errors === 0 ? 'No request failed' : `${plural(during.errors, 'request')} failed`;
  return `${failed} during the event. p99 was ${formatMs(during.p99Ms)}, and ${formatMs(before.p99Ms)} before it.`;
}

/** Returns the latency that Fairlead's proxy adds to a WebSocket round trip at p50 and the lowest concurrency. */
function probeHeadline(rows: readonly ResultRow[], { formatMs }: Formats): string | null {
  const lines = summariseRows(rows).filter(({ protocol, probe }) => protocol === 'http1' && probe === 'websocket');
  const [proxy, direct] = (['proxy', 'direct'] as const).map((target) => lines.find((line) => line.target === target));
  if (proxy?.p50Ms == null || direct?.p50Ms == null || unstableLines([proxy, direct]).length > 0) return null;
  const addedMs = proxy.p50Ms - direct.p50Ms;
  const added = addedMs > 0 ? formatMs(addedMs) : 'no measurable latency';
  return `The proxy adds ${added} to a WebSocket round trip at p50 (concurrency ${proxy.concurrency}).`;
}

/** Returns Fairlead's CPU for a request as a ratio to nginx's, at the highest concurrency that both have. */
function labHeadline(rows: readonly ResultRow[], { formatRatio }: Formats): string | null {
  const lines = summariseRows(rows).filter(({ protocol }) => protocol === 'http1');
  const cells = groupCells(rows);
  const cpuOf = (line: ResultLine) => {
    const cell = (cells.get(line.key) ?? []).toSorted((one, other) => one.round - other.round);
    return cell.map((row) => row.cpuUsPerRequest).filter((value) => value !== null);
  };
  for (const line of lines.toReversed()) {
    const other = lines.find(({ key }) => key === cellKey(line, 'http1', 'nginx'));
    if (line.target !== 'proxy' || other === undefined) continue;
    const ratio = pairedRatio(cpuOf(line), cpuOf(other));
    if (ratio === null || !isReproducible(ratio)) return null;
    const where = `(HTTP/1.1, concurrency ${line.concurrency})`;
    if (!isDifferent(ratio)) return `Fairlead and nginx do not differ beyond the noise in CPU per request ${where}.`;
    return `Fairlead needs ${formatRatio(ratio.median)} the CPU of nginx for a request ${where}.`;
  }
  return null;
}

function appHeadline(rows: readonly ResultRow[], { formatMs }: Formats): string | null {
  const lines = summariseRows(rows).filter(({ protocol }) => protocol === 'http1');
  const pair = lines
    .filter(({ target }) => target === 'proxy')
    .map((proxy) => ({
      proxy,
      direct: lines.find(
        (line) =>
          line.target === 'direct' && line.concurrency === proxy.concurrency && line.networkPath === proxy.networkPath,
      ),
    }))
    .find(({ proxy, direct }) => proxy.p50Ms !== null && direct?.p50Ms != null);
  if (pair?.direct?.p50Ms == null || pair.proxy.p50Ms === null) return null;
  if (unstableLines([pair.proxy, pair.direct]).length > 0) return null;
  const addedMs = pair.proxy.p50Ms - pair.direct.p50Ms;
  const added = addedMs > 0 ? formatMs(addedMs) : 'no measurable latency';
  return `The proxy adds ${added} at p50 (HTTP/1.1, concurrency ${pair.proxy.concurrency}).`;
}

/**
 * Returns the cells whose throughput varied too much between rounds to name a winner. Empty with fewer than three rounds,
 * which show nothing about it.
 */
export function unstableLines(lines: readonly ResultLine[]): ResultLine[] {
  return lines.filter(({ interval }) => interval !== null && !isReproducible(interval));
}

/** True if the rows have several concurrency levels: only then there is a line to draw. */
export function hasCurve(rows: readonly ResultRow[]): boolean {
  return new Set(rows.map(({ concurrency }) => concurrency)).size > 1;
}

type Candidate = Pick<AppSummary, 'status' | 'liveRelease'> & { readonly hosts: readonly string[] };

/** Returns why an app can't be measured now; null if it can. */
export function whyNotMeasured({ status, liveRelease, hosts }: Candidate): string | null {
  if (liveRelease === null || UNMEASURED.has(status)) return appLook[status].label.toLowerCase();
  return hosts.length === 0 ? 'no domain' : null;
}

const UNMEASURED: ReadonlySet<AppSummary['status']> = new Set(['failed', 'server_offline', 'not_deployed']);

/** Sorts apps that can be measured first and keeps the order otherwise. */
export function measurableFirst<App extends Candidate>(apps: readonly App[]): App[] {
  const can = (app: App) => Number(whyNotMeasured(app) === null);
  return [...apps].sort((one, other) => can(other) - can(one));
}

/** Parses a list such as `1, 8 32`; returns null when an item is no number. */
export function parseConcurrency(text: string): number[] | null {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '');
  if (parts.length === 0 || parts.some((part) => !/^\d{1,5}$/.test(part))) return null;
  return [...new Set(parts.map(Number))].sort((left, right) => left - right);
}
