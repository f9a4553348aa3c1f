// Charts of a group: each metric by concurrency with its interval as a band, and the latency distribution.
import { bucketLowerUs, bucketUpperUs, type Histogram, histogramCount } from '@fairlead/contract/buckets';
import { scaleLinear, scaleLog } from 'd3-scale';
import { area, curveStepAfter, line } from 'd3-shape';
import { formatMs, formatShare } from './format.ts';
import { middleLevel } from './headline.ts';
import type { Markup } from './markup.ts';
import { METRICS, type Metric } from './metrics.ts';
import { BOTTOM, drawPlot, MARGIN, RIGHT, round, type Series } from './plot.ts';
import type { Look } from './series.ts';
import type { Cell, Group } from './summary.ts';

/** Ratio of the highest to the lowest value from which an axis is logarithmic. */
const LOG_FROM = 20;
/** Points of a latency curve closer than this in share are left out. */
const SHARE_STEP = 0.002;
const Y_TICKS = 4;

type Looks = ReadonlyMap<string, Look>;

interface Point {
  readonly concurrency: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Returns a chart by concurrency for each metric, if the group has several levels, and its latency curve. */
export function chartsOf(group: Group, looks: Looks): Markup[] {
  const metrics = group.levels.length > 1 ? METRICS.filter(({ isCharted }) => isCharted) : [];
  const byConcurrency = metrics.flatMap((metric) => {
    const series = group.targets.flatMap((target) => {
      const points = pointsOf(group, target.name, metric);
      const look = looks.get(target.name);
      return points.length === 0 || look === undefined ? [] : [{ target, look, points }];
    });
    return series.length === 0 ? [] : [concurrencyChart(group, metric, series)];
  });
  const distribution = latencyChart(group, looks);
  return distribution === null ? byConcurrency : [...byConcurrency, distribution];
}

function pointsOf({ cells }: Group, target: string, metric: Metric): Point[] {
  return cells.flatMap(({ target: { name }, concurrency, figures }) => {
    const figure = name === target ? figures.get(metric.id) : undefined;
    if (figure === undefined) return [];
    const { median: value, interval } = figure;
    return [{ concurrency, value, low: interval?.low ?? value, high: interval?.high ?? value }];
  });
}

interface Drawn {
  readonly target: Cell['target'];
  readonly look: Look;
  readonly points: readonly Point[];
}

function concurrencyChart({ key, levels }: Group, metric: Metric, drawn: readonly Drawn[]): Markup {
  const x = horizontalScale(levels);
  const all = drawn.flatMap(({ points }) => points);
  const { scale: y, isLog, ticks } = verticalScale(metric, all);
  const atX = ({ concurrency }: Point) => x(concurrency);
  const lines = line<Point>(atX, ({ value }) => round(y(value)));
  const bands = area<Point>(
    atX,
    ({ low }) => round(y(low)),
    ({ high }) => round(y(high)),
  );
  return drawPlot({
    ...{ id: `${key}-${metric.id.replace('.', '-')}`, kind: metric.id, title: metric.title },
    unit: `${metric.unit}${isLog ? ', log scale' : ''}`,
    description: `${metric.title} by concurrency. ${drawn.map((each) => describe(each, metric)).join(' ')}`,
    xLabel: 'Concurrency',
    xTicks: levels.map((level) => ({ at: x(level), label: level.toLocaleString('en') })),
    yTicks: ticks.map((value) => ({ at: y(value), label: value === 0 ? '0' : metric.format(value) })),
    series: drawn.map(
      ({ target, look, points }): Series => ({
        ...{ name: target.name, look, line: lines(points) ?? '' },
        ...(points.length > 1 ? { band: bands(points) ?? '' } : {}),
        points: points.map((point) => ({ x: atX(point), y: y(point.value) })),
      }),
    ),
  });
}

/** Concurrency on a logarithmic axis. */
function horizontalScale(levels: readonly number[]): (level: number) => number {
  const [lowest = 1, highest = 1] = [levels[0], levels.at(-1)];
  if (lowest === highest || lowest < 1) return () => (MARGIN.left + RIGHT) / 2;
  return scaleLog([lowest, highest], [MARGIN.left + 12, RIGHT - 8]);
}

function describe({ target, points }: Drawn, { format }: Metric): string {
  const values = points.map(({ concurrency, value }) => `${format(value)} at ${concurrency}`);
  return `${target.label}: ${values.join(', ')}.`;
}

/** Starts at 0, unless the values span more than a linear axis can show. */
function verticalScale({ domain, axisUnit = () => 1 }: Metric, points: readonly Point[]) {
  const highest = Math.max(...points.map(({ high }) => high)) || 1;
  const lowest = Math.min(...points.map(({ low }) => low));
  const range = [BOTTOM, MARGIN.top];
  if (domain === undefined && lowest > 0 && highest / lowest >= LOG_FROM) {
    const unit = axisUnit(lowest);
    // Decades of MiB are no round numbers of GiB.
    const base = unit > 1 ? 4 : 10;
    const inUnits = scaleLog([lowest / unit, highest / unit], range)
      .base(base)
      .nice();
    const ticks = powersOf(base, inUnits).map((tick) => tick * unit);
    return { scale: (value: number) => inUnits(value / unit), isLog: true, ticks };
  }
  const unit = axisUnit(highest);
  const inUnits = scaleLinear(domain ?? [0, highest / unit], range);
  if (domain === undefined) inUnits.nice(Y_TICKS);
  const ticks = inUnits.ticks(Y_TICKS).map((tick) => tick * unit);
  return { scale: (value: number) => inUnits(value / unit), isLog: false, ticks };
}

function powersOf(base: number, scale: { ticks: () => number[] }): number[] {
  const exponentOf = (tick: number) => Math.log(tick) / Math.log(base);
  return scale.ticks().filter((tick) => Math.abs(exponentOf(tick) - Math.round(exponentOf(tick))) < 1e-9);
}

function latencyChart({ key, cells, targets, ...group }: Group, looks: Looks): Markup | null {
  const level = middleLevel(group);
  const drawn = targets.flatMap((target) => {
    const cell = cells.find(({ concurrency, target: { name } }) => name === target.name && concurrency === level);
    const look = looks.get(target.name);
    const steps = cell === undefined || group.connection === 'idle' ? [] : distributionOf(cell.latency);
    return steps.length === 0 || look === undefined ? [] : [{ target, look, steps }];
  });
  const all = drawn.flatMap(({ steps }) => steps.map(([ms]) => ms));
  if (level === undefined || all.length === 0) return null;
  const x = scaleLog([Math.min(...all), Math.max(...all)], [MARGIN.left, RIGHT - 8]).nice();
  const y = scaleLinear([0, 1], [BOTTOM, MARGIN.top]);
  const path = line<readonly [number, number]>(
    ([ms]) => round(x(ms)),
    ([, share]) => round(y(share)),
  ).curve(curveStepAfter);
  const at = level.toLocaleString('en');
  return drawPlot({
    ...{ id: `${key}-cdf`, kind: 'cdf', title: 'Latency distribution' },
    unit: `at concurrency ${at}`,
    description: `Share of responses within a latency, at concurrency ${at}. ${drawn.map(({ target, steps }) => `${target.label}: half within ${formatMs(shareAt(steps, 0.5))}, 99 % within ${formatMs(shareAt(steps, 0.99))}.`).join(' ')}`,
    xLabel: 'Latency, log scale',
    xTicks: powersOf(10, x).map((ms) => ({ at: x(ms), label: formatMs(ms) })),
    yTicks: y.ticks(Y_TICKS).map((share) => ({ at: y(share), label: formatShare(share) })),
    series: drawn.map(({ target, look, steps }) => ({ name: target.name, look, line: path(steps) ?? '' })),
  });
}

/** Returns [milliseconds, share of responses within them], ascending. */
function distributionOf(latency: Histogram): [number, number][] {
  const total = histogramCount(latency);
  const steps: [number, number][] = [];
  let seen = 0;
  for (const [index, count] of [...latency.counts].sort(([one], [other]) => one - other)) {
    if (steps.length === 0) steps.push([Math.max(1, bucketLowerUs(index)) / 1000, 0]);
    seen += count;
    const share = seen / total;
    if (seen === total || share - (steps.at(-1)?.[1] ?? 0) >= SHARE_STEP)
      steps.push([bucketUpperUs(index) / 1000, share]);
  }
  return steps;
}

function shareAt(steps: readonly (readonly [number, number])[], wanted: number): number {
  return steps.find(([, share]) => share >= wanted)?.[0] ?? 0;
}
