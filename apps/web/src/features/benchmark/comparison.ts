// Compares two benchmark runs cell by cell. Pure.
import { type Estimate, isDifferent, median, unpairedRatio } from '@fairlead/core/benchmark/statistics';
import type { BenchmarkDetail } from '../../api/types.ts';
import { requestsText, stagesText } from './load-text.ts';
import { cellKey, groupCells, type ResultRow, scenarioLabel } from './results.ts';

export interface Change {
  readonly before: number;
  readonly after: number;
  /** Ratio of after to before, with its interval; null with fewer than three rounds in one of the runs. */
  readonly ratio: Estimate | null;
  /** `unknown`: too few rounds. `none`: not more than the noise. */
  readonly verdict: 'better' | 'worse' | 'none' | 'unknown';
}

export interface ComparedCell {
  readonly key: string;
  readonly protocol: ResultRow['protocol'];
  readonly target: ResultRow['target'];
  readonly networkPath: ResultRow['networkPath'];
  readonly concurrency: number;
  readonly throughput: Change | null;
  readonly p99: Change | null;
  readonly cpu: Change | null;
}

/** Returns the cells that both runs have, in the order of `after`. */
export function compareRows(before: readonly ResultRow[], after: readonly ResultRow[]): ComparedCell[] {
  const old = groupCells(before);
  return [...groupCells(after)].flatMap(([key, cell]) => {
    const baseline = old.get(key);
    const [first] = cell;
    if (baseline === undefined || first === undefined) return [];
    const { protocol, target, networkPath, concurrency } = first;
    const change = (measure: (row: ResultRow) => number | null, wanted: 'higher' | 'lower') =>
      changeOf(valuesOf(baseline, measure), valuesOf(cell, measure), wanted);
    return [
      {
        key: cellKey(first, protocol, target),
        ...{ protocol, target, networkPath, concurrency },
        throughput: change((row) => row.requestsPerSecond, 'higher'),
        p99: change((row) => row.p99Ms, 'lower'),
        cpu: change((row) => row.cpuUsPerRequest, 'lower'),
      },
    ];
  });
}

function valuesOf(cell: readonly ResultRow[], measure: (row: ResultRow) => number | null): number[] {
  return cell.map(measure).filter((value) => value !== null);
}

function changeOf(old: readonly number[], values: readonly number[], wanted: 'higher' | 'lower'): Change | null {
  const [before, after] = [median(old), median(values)];
  if (before === null || after === null) return null;
  const ratio = unpairedRatio(values, old);
  return { before, after, ratio, verdict: verdictOf(ratio, wanted) };
}

function verdictOf(ratio: Estimate | null, wanted: 'higher' | 'lower'): Change['verdict'] {
  if (ratio === null) return 'unknown';
  if (!isDifferent(ratio)) return 'none';
  return ratio.median > 1 === (wanted === 'higher') ? 'better' : 'worse';
}

type Facts = Pick<BenchmarkDetail, 'facts' | 'serverName' | 'plan'>;

export interface FactChange {
  readonly term: string;
  readonly before: string;
  readonly after: string;
}

/** Returns what differs between the runs besides their results. A difference in figures may come from any of it. */
export function compareFacts(before: Facts, after: Facts): FactChange[] {
  const describe = ({ facts, serverName, plan }: Facts) => ({
    Release: facts?.release ? `#${facts.release.number}` : 'Not stored',
    Settings: facts === null || facts.configNumber === null ? 'Not stored' : `version ${facts.configNumber}`,
    Server: serverName ?? 'Elsewhere',
    Agent: facts === null ? 'Not stored' : facts.agentVersion,
    Kernel: facts === null ? 'Not stored' : facts.machine.kernel,
    Cores: facts === null ? 'Not stored' : String(facts.machine.cpuCount),
    URL: `${plan.host}${plan.path}`,
    'Time per row': `${plan.durationMs / 1000} s`,
    Upstream: plan.upstream === 'lab' ? 'the lab' : 'the app',
    Scenario: scenarioLabel[plan.scenario].toLowerCase(),
    Connections: plan.connection,
    Requests: requestsText(plan.load),
    'Think time': `${plan.load.thinkTimeMs} ms`,
    Stages: stagesText(plan.load),
    Workers: plan.load.workers === undefined ? 'automatic' : String(plan.load.workers),
    Rate: plan.requestsPerSecond === null ? 'closed loop' : `${plan.requestsPerSecond} requests/s`,
  });
  const [old, now] = [describe(before), describe(after)];
  return (Object.keys(now) as (keyof typeof now)[])
    .filter((term) => old[term] !== now[term])
    .map((term) => ({ term, before: old[term], after: now[term] }));
}
