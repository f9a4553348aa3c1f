// Headline of a report: the comparison of one cell in one sentence.
// Invariant: it names no winner if the rounds differ too much, or are too few to tell.
import { isDifferent, isReproducible, ROUNDS_MIN, SPREAD_MAX } from '@fairlead/core/benchmark/statistics';
import { formatInterval, formatRatio, protocolLabel } from './format.ts';
import { CPU, THROUGHPUT } from './metrics.ts';
import type { Cell, Figure, Group } from './summary.ts';

export interface Headline {
  readonly text: string;
  /** `result`: a difference beyond the noise. `same`: none. `unknown`: no winner can be named. */
  readonly verdict: 'result' | 'same' | 'unknown';
}

/** Rule for the cell of the headline, fixed before the result is known. A report states it. */
export const HEADLINE_RULE =
  'The headline takes the middle concurrency (the lower of two) of the first group with the most levels, whatever its result.';

export function headlineOf(all: readonly Group[]): Headline {
  const groups = all.filter(({ connection }) => connection !== 'idle');
  const compared = groups.filter((group) => subjectOf(group) !== null && group.baseline !== null);
  const group = widest(compared) ?? widest(groups);
  const concurrency = group === null ? undefined : middleLevel(group);
  if (group === null || concurrency === undefined) return { text: 'No rows yet.', verdict: 'unknown' };
  const where = `over ${protocolLabel(group.protocol)} at concurrency ${concurrency.toLocaleString('en')}`;
  const cell = group.cells.find((each) => each.concurrency === concurrency && each.target.name === subjectOf(group));
  if (cell === undefined) return { text: `No comparison ${where}: a target has no rows there.`, verdict: 'unknown' };
  return group.baseline === null ? alone(cell, where) : comparison(cell, group, where);
}

/** Level that headlines and latency curves show. */
export function middleLevel({ levels }: Pick<Group, 'levels'>): number | undefined {
  return levels[(levels.length - 1) >> 1];
}

function subjectOf({ targets }: Group): string | null {
  return (targets.find(({ kind }) => kind === 'proxy') ?? targets[0])?.name ?? null;
}

function widest(groups: readonly Group[]): Group | null {
  const most = Math.max(0, ...groups.map(({ levels }) => levels.length));
  return groups.find(({ levels }) => levels.length === most) ?? null;
}

function alone(cell: Cell, where: string): Headline {
  const figure = cell.figures.get(THROUGHPUT.id);
  if (figure === undefined) return { text: `No requests ${where}.`, verdict: 'unknown' };
  const noise = noiseOf(cell, figure, where);
  if (noise !== null) return { text: noise, verdict: 'unknown' };
  return {
    text: `${cell.target.label} serves ${figure.metric.format(figure.median)} requests/s ${where}.`,
    verdict: 'result',
  };
}

function comparison(cell: Cell, { baseline, cells, baselineProtocol, protocol }: Group, where: string): Headline {
  const base = baseline?.label ?? '';
  const other = cells.find(({ target, concurrency }) => target === baseline && concurrency === cell.concurrency);
  const ofCpu = cell.figures.get(CPU.id);
  const figure = ofCpu?.ratio == null ? cell.figures.get(THROUGHPUT.id) : ofCpu;
  if (figure?.ratio == null) return { text: `No comparison with ${base} ${where}.`, verdict: 'unknown' };
  const otherFigure = other?.figures.get(figure.metric.id);
  const noise = noiseOf(cell, figure, where) ?? (other && otherFigure ? noiseOf(other, otherFigure, where) : null);
  if (noise !== null || figure.ratioInterval === null) {
    return { text: noise ?? tooFew(cell, where), verdict: 'unknown' };
  }
  const interval = `95 % interval ${formatInterval(figure.ratioInterval, formatRatio)}`;
  const kind = figure.metric === CPU ? 'CPU per request' : 'requests/s';
  const than = baselineProtocol === protocol ? base : `${base} over ${protocolLabel(baselineProtocol ?? '')}`;
  if (!isDifferent(figure.ratioInterval)) {
    return {
      text: `${cell.target.label} and ${than} do not differ beyond the noise in ${kind} ${where} (ratio ${formatRatio(figure.ratio)}, ${interval}).`,
      verdict: 'same',
    };
  }
  const verb = figure.metric === CPU ? 'takes' : 'serves';
  return {
    text: `${cell.target.label} ${verb} ${formatRatio(figure.ratio)} times the ${kind} of ${than} ${where} (${interval}).`,
    verdict: 'result',
  };
}

/** Returns why a cell's figure decides nothing; null if it does. */
function noiseOf(cell: Cell, { interval }: Figure, where: string): string | null {
  if (interval === null) return tooFew(cell, where);
  if (isReproducible(interval)) return null;
  return `Not reproducible: the rounds of ${cell.target.label} differ by more than ${SPREAD_MAX * 100} % ${where}. This run names no winner.`;
}

function tooFew({ rounds }: Cell, where: string): string {
  return `Too few rounds ${where} to name a winner: ${rounds} of at least ${ROUNDS_MIN}.`;
}
