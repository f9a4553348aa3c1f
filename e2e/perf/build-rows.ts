// Rows of `npm run perf:builds`: the first and the second build of an app, and the limit of their ratio. Pure.

/** Steps of a deployment that produce the artifact. */
export const STEPS: readonly string[] = ['clone', 'build', 'pack'];
/** Maximum ratio of the second build to the first. */
const RATIO_MAX = 0.5;

export interface BuildRow {
  readonly example: string;
  /** Duration of each of `STEPS` in milliseconds. */
  readonly first: readonly number[];
  readonly second: readonly number[];
}

export function isWithinBound(row: BuildRow): boolean {
  return ratio(row) <= RATIO_MAX;
}

export function formatRow(row: BuildRow): string {
  const mark = isWithinBound(row) ? '  ok ' : ' OVER';
  const share = `${(ratio(row) * 100).toFixed(0)} %`.padStart(6);
  return `${mark} ${row.example.padEnd(24)} first ${shown(row.first)}  second ${shown(row.second)} ${share}`;
}

export function summary(rows: readonly BuildRow[]): string {
  const [first, second] = [rows.flatMap((row) => row.first), rows.flatMap((row) => row.second)].map(sum);
  const within = rows.filter(isWithinBound).length;
  return [
    `sum: first builds ${seconds(first ?? 0)}, second builds ${seconds(second ?? 0)}`,
    `second build <= ${RATIO_MAX * 100} % of the first: ${within} of ${rows.length}`,
  ].join('\n');
}

function ratio({ first, second }: BuildRow): number {
  return sum(second) / sum(first);
}

/** Formats durations such as `12.3 s (clone 0.4, build 10.1, pack 1.8)`. */
function shown(durations: readonly number[]): string {
  const parts = durations.map((each, index) => `${STEPS[index]} ${(each / 1000).toFixed(1)}`);
  return `${seconds(sum(durations)).padStart(8)} (${parts.join(', ')})`;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function sum(list: readonly number[]): number {
  return list.reduce((a, b) => a + b, 0);
}
