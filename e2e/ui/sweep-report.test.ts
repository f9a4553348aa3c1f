// The check must fail for each kind of problem on a single page.
import { expect, test } from 'vitest';
import { formatReport, isClean, listProblems, sumUp, type Visit } from './sweep-report.ts';

const clean: Visit = {
  name: 'demo 390 dark /apps',
  violations: [],
  errors: [],
  shift: 0.049,
  moved: ['<h2>'],
  lcpMs: 400,
};
const firstLoads = [{ route: '/apps', sizeKb: 220 }];

test('pages without a problem are clean', () => {
  const report = sumUp(
    [clean, { ...clean, lcpMs: 100 }, { ...clean, lcpMs: 200 }, { ...clean, lcpMs: 300 }],
    firstLoads,
  );
  expect(isClean(report)).toBe(true);
  expect(listProblems(clean)).toEqual([]);
  expect(formatReport(report)).toBe(
    'pages 4, axe violations 0, console errors 0, CLS max 0.049, LCP p75 300 ms, JS max 220.0 KB',
  );
});

test.each<[string, Partial<Visit>, string]>([
  ['an axe violation', { violations: ['light: label'] }, 'demo 390 dark /apps: axe: light: label'],
  ['an error', { errors: ['TypeError'] }, 'demo 390 dark /apps: TypeError'],
  ['a layout shift', { shift: 0.05 }, 'demo 390 dark /apps: layout shift of 0.050: <h2>'],
])('%s fails the check', (_, problem, line) => {
  const visit = { ...clean, ...problem };
  expect(isClean(sumUp([clean, visit], firstLoads))).toBe(false);
  expect(listProblems(visit)).toEqual([line]);
});

test('too much JavaScript fails the check', () => {
  expect(isClean(sumUp([clean], [...firstLoads, { route: '/docs', sizeKb: 220.1 }]))).toBe(false);
});

test('a sweep without pages fails the check', () => {
  expect(isClean(sumUp([], firstLoads))).toBe(false);
});
