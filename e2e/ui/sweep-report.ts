// Sums up what a sweep found on the pages. Pure.
import { FIRST_LOAD_KB_MAX, type FirstLoad } from '../perf/first-load.ts';
import { percentile } from '../perf/table.ts';

/** Content must not move while a page loads: Google's bound for a good page is 0.1. */
export const SHIFT_MAX = 0.05;

/** One load of one page. */
export interface Visit {
  /** Data set, width, theme and address. */
  readonly name: string;
  /** Findings of axe, one for each element. */
  readonly violations: readonly string[];
  /** Errors of the console and of scripts, failed requests, and pages that did not load or are wider than the window. */
  readonly errors: readonly string[];
  readonly shift: number;
  /** HTML of the elements that moved. */
  readonly moved: readonly string[];
  readonly lcpMs: number | undefined;
}

export interface SweepReport {
  readonly pages: number;
  readonly violations: number;
  readonly errors: number;
  readonly shiftMax: number;
  readonly lcpP75Ms: number;
  readonly firstLoadMaxKb: number;
}

export function sumUp(visits: readonly Visit[], firstLoads: readonly FirstLoad[]): SweepReport {
  const total = (pick: (visit: Visit) => readonly string[]) => visits.reduce((sum, each) => sum + pick(each).length, 0);
  const paints = visits.flatMap(({ lcpMs }) => lcpMs ?? []);
  return {
    pages: visits.length,
    violations: total(({ violations }) => violations),
    errors: total(({ errors }) => errors),
    shiftMax: Math.max(0, ...visits.map(({ shift }) => shift)),
    lcpP75Ms: percentile(paints, 0.75),
    firstLoadMaxKb: Math.max(0, ...firstLoads.map(({ sizeKb }) => sizeKb)),
  };
}

/** Returns a line for each problem of a visit. */
export function listProblems({ name, violations, errors, shift, moved }: Visit): readonly string[] {
  return [
    ...violations.map((violation) => `${name}: axe: ${violation}`),
    ...errors.map((error) => `${name}: ${error}`),
    ...(shift < SHIFT_MAX ? [] : [`${name}: layout shift of ${shift.toFixed(3)}: ${moved.join(' ')}`]),
  ];
}

export function isClean({ pages, violations, errors, shiftMax, firstLoadMaxKb }: SweepReport): boolean {
  return pages > 0 && violations === 0 && errors === 0 && shiftMax < SHIFT_MAX && firstLoadMaxKb <= FIRST_LOAD_KB_MAX;
}

export function formatReport(report: SweepReport): string {
  const { pages, violations, errors, shiftMax, lcpP75Ms, firstLoadMaxKb } = report;
  return (
    `pages ${pages}, axe violations ${violations}, console errors ${errors}, CLS max ${shiftMax.toFixed(3)}, ` +
    `LCP p75 ${lcpP75Ms.toFixed(0)} ms, JS max ${firstLoadMaxKb.toFixed(1)} KB`
  );
}
