// Loads what a scenario made, table by table in the order in which they refer to each other, and tells how it goes.
import type { CopyRow, Loader } from '@fairlead/db/copy';
import type { BenchmarkRows } from './benchmarks.ts';
import type { History } from './history.ts';

export type Note = (line: string) => void;

export interface ScenarioRows {
  readonly users: readonly CopyRow[];
  readonly members: readonly CopyRow[];
  readonly servers: readonly CopyRow[];
  readonly apps: readonly CopyRow[];
  readonly placements: readonly CopyRow[];
  readonly placementServers: readonly CopyRow[];
  readonly domains: readonly CopyRow[];
  readonly instances: readonly CopyRow[];
  readonly histories: readonly History[];
  readonly benchmarks: readonly BenchmarkRows[];
  /** In the order of their time, because the chain follows it. */
  readonly auditEvents?: readonly CopyRow[];
}

export interface MetricRows {
  readonly table: `metric.${'app' | 'server'}_${'1s' | '1m' | '1h'}`;
  readonly rows: Iterable<CopyRow>;
}

export async function loadRows(loader: Loader, rows: ScenarioRows, note: Note): Promise<void> {
  const deployments = rows.histories.flatMap((history) => history.deployments);
  const tables: readonly (readonly [string, readonly CopyRow[]])[] = [
    ['user', rows.users],
    ['member', rows.members],
    ['server', rows.servers],
    ['app', rows.apps],
    ['release', rows.histories.flatMap((history) => history.releases)],
    ['placement', rows.placements],
    ['placement_server', rows.placementServers],
    ['domain', rows.domains],
    ['instance', rows.instances],
    ['deployment', deployments.map((deployment) => deployment.row)],
    ['deployment_step', deployments.flatMap((deployment) => deployment.steps)],
    ['benchmark_run', rows.benchmarks.map((benchmark) => benchmark.run)],
    ['benchmark_row', rows.benchmarks.flatMap((benchmark) => benchmark.rows)],
    ['audit_event', rows.auditEvents ?? []],
  ];
  for (const [table, tableRows] of tables) await loadTable(loader, table, tableRows, note);
}

/** Generates metrics during the load: a week of them is too large for memory. */
export async function loadMetrics(
  loader: Loader,
  metrics: readonly MetricRows[],
  from: Date,
  note: Note,
): Promise<void> {
  await loader.query(`SELECT metric.ensure_partitions($1, now() + interval '7 days')`, [from]);
  for (const { table, rows } of metrics) await loadTable(loader, table, rows, note);
}

async function loadTable(loader: Loader, table: string, rows: Iterable<CopyRow>, note: Note): Promise<void> {
  const startedAt = performance.now();
  const count = await loader.load(table, rows);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  note(`${table.padEnd(18)} ${String(count).padStart(8)} rows  ${seconds.padStart(5)} s`);
}

/** The rows of many generators, one after another. */
export function* chain<T>(parts: Iterable<Iterable<T>>): Generator<T> {
  for (const part of parts) yield* part;
}
