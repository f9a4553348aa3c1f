// Summary of a document's rows: groups that may be compared, with medians, intervals and ratios of each cell.
import { type Histogram, mergeHistograms } from '@fairlead/contract/buckets';
import type {
  BenchmarkDocument,
  BenchmarkDocumentRow,
  BenchmarkDocumentTarget,
} from '@fairlead/core/benchmark/document';
import { isNoisy } from '@fairlead/core/benchmark/noise';
import { type Estimate, estimate, isReproducible, median, pairedRatio } from '@fairlead/core/benchmark/statistics';
import { histogramOf, METRICS, type Metric, THROUGHPUT } from './metrics.ts';

export interface Figure {
  readonly metric: Metric;
  readonly median: number;
  /** Value of each round that has one. */
  readonly byRound: ReadonlyMap<number, number>;
  /** 95 % interval; null with fewer than three rounds. */
  readonly interval: Estimate | null;
  /** Ratio to the baseline; null for the baseline and without one by the same path. */
  readonly ratio: number | null;
  readonly ratioInterval: Estimate | null;
}

/** Rounds of one target at one concurrency. */
export interface Cell {
  readonly target: BenchmarkDocumentTarget;
  readonly concurrency: number;
  readonly rounds: number;
  readonly figures: ReadonlyMap<string, Figure>;
  readonly requests: number;
  readonly errors: number;
  readonly failures: Readonly<Record<string, number>>;
  /** Rows in which the load generator limited the result. */
  readonly saturated: number;
  /** Rows in which other processes or the hypervisor took a part of the machine. */
  readonly noisy: number;
  /** False if the throughput of its rounds differs too much to name a winner. Null with too few rounds. */
  readonly reproducible: boolean | null;
  readonly latency: Histogram;
}

/** Cells that may be compared: they differ in target and concurrency only. */
export interface Group {
  /** Unique in the document. */
  readonly key: string;
  readonly scenario: string;
  readonly phase: string | null;
  readonly probe: string | null;
  readonly protocol: string;
  readonly connection: string;
  readonly networkPath: string | null;
  readonly levels: readonly number[];
  readonly targets: readonly BenchmarkDocumentTarget[];
  /** Target of its ratios; null if it has no row by this path. */
  readonly baseline: BenchmarkDocumentTarget | null;
  /** Protocol of the baseline's rows. Apps speak HTTP/1.1, so direct rows of other protocols do not exist. */
  readonly baselineProtocol: string | null;
  readonly cells: readonly Cell[];
}

const keyOf = (row: BenchmarkDocumentRow, protocol = row.protocol) =>
  [row.scenario, row.phase ?? '', row.probe ?? '', protocol, row.connection, row.networkPath ?? ''].join('\n');
const cellOf = (rows: readonly BenchmarkDocumentRow[], target: string, concurrency: number) =>
  rows.filter((row) => row.target === target && row.concurrency === concurrency);

/** Returns the groups in the order of measurement. */
export function groupsOf(document: BenchmarkDocument): Group[] {
  const byKey = Map.groupBy(document.rows, (row) => keyOf(row));
  return [...byKey].flatMap(([, rows], at) => {
    const [first] = rows;
    if (first === undefined) return [];
    const targets = document.targets.filter(({ name }) => rows.some((row) => row.target === name));
    const base = baselineOf(document);
    const own = base !== null && rows.some((row) => row.target === base.name);
    const http1 = base?.kind === 'direct' ? (byKey.get(keyOf(first, 'http1')) ?? []) : [];
    const baseRows = (own ? rows : http1).filter((row) => row.target === base?.name);
    const { scenario, protocol, connection, networkPath } = first;
    const levels = [...new Set(rows.map(({ concurrency }) => concurrency))].sort((one, other) => one - other);
    return [
      {
        key: `g${at}`,
        ...{
          scenario,
          phase: first.phase ?? null,
          probe: first.probe ?? null,
          protocol,
          connection,
          networkPath,
          levels,
          targets,
        },
        baseline: baseRows.length === 0 ? null : base,
        baselineProtocol: baseRows[0]?.protocol ?? null,
        cells: levels.flatMap((concurrency) =>
          targets.flatMap((target) => {
            const cell = cellOf(rows, target.name, concurrency);
            const against = target.name === base?.name ? [] : cellOf(baseRows, base?.name ?? '', concurrency);
            return cell.length === 0 ? [] : [summarise(target, concurrency, cell, against)];
          }),
        ),
      },
    ];
  });
}

/** Target that ratios compare with; null if the document has none. */
function baselineOf({ baseline, targets }: BenchmarkDocument): BenchmarkDocumentTarget | null {
  return targets.find(({ name, kind }) => (baseline === null ? kind === 'direct' : name === baseline)) ?? null;
}

function summarise(
  target: BenchmarkDocumentTarget,
  concurrency: number,
  rows: readonly BenchmarkDocumentRow[],
  baseline: readonly BenchmarkDocumentRow[],
): Cell {
  const figures = METRICS.flatMap((metric) => figureOf(metric, rows, baseline) ?? []);
  const byId = new Map(figures.map((figure) => [figure.metric.id, figure]));
  const throughput = byId.get(THROUGHPUT.id)?.interval ?? null;
  const failures: Record<string, number> = {};
  for (const row of rows) {
    for (const [kind, count] of Object.entries(row.failures ?? {})) failures[kind] = (failures[kind] ?? 0) + count;
  }
  return {
    ...{ target, concurrency, rounds: rows.length, figures: byId, failures },
    requests: sum(rows, (row) => row.requests),
    errors: sum(rows, (row) => row.errors),
    saturated: rows.filter((row) => row.generatorSaturated === true).length,
    noisy: rows.filter(({ noise }) => isNoisy(noise)).length,
    reproducible: throughput === null ? null : isReproducible(throughput),
    latency: mergeHistograms(rows.map(histogramOf)),
  };
}

function figureOf(
  metric: Metric,
  rows: readonly BenchmarkDocumentRow[],
  baseline: readonly BenchmarkDocumentRow[],
): Figure | null {
  const own = valuesByRound(metric, rows);
  const middle = median([...own.values()]);
  if (middle === null) return null;
  const other = metric.isCompared ? valuesByRound(metric, baseline) : new Map<number, number>();
  // Rounds that both have: a ratio of different rounds would not cancel out the noise.
  const rounds = [...own.keys()].filter((round) => (other.get(round) ?? 0) > 0);
  const [above, below] = [valuesOf(own, rounds), valuesOf(other, rounds)];
  const ratio = median(above.map((value, at) => value / (below[at] ?? Number.NaN)));
  // A bootstrap is expensive: other metrics show only their median.
  const interval = metric.isCharted || metric.isCompared ? estimate([...own.values()]) : null;
  return { metric, median: middle, byRound: own, interval, ratio, ratioInterval: pairedRatio(above, below) };
}

function valuesByRound(metric: Metric, rows: readonly BenchmarkDocumentRow[]): ReadonlyMap<number, number> {
  return new Map(
    rows.flatMap((row) => {
      const value = metric.of(row);
      return value === null ? [] : [[row.round, value] as const];
    }),
  );
}

function valuesOf(values: ReadonlyMap<number, number>, rounds: readonly number[]): number[] {
  return rounds.map((round) => values.get(round) ?? Number.NaN);
}

function sum(rows: readonly BenchmarkDocumentRow[], of: (row: BenchmarkDocumentRow) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}
