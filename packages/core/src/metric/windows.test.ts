import { metricRangePlans, metricRanges } from '@fairlead/contract/metrics';
import { expect, test } from 'vitest';
import { chartWindow, elapsedSeconds, segmentsOf, sumSegments } from './windows.ts';

const now = new Date('2026-11-20T12:34:56.700Z');

test.each(metricRanges)('the rows of %s join without gap or overlap', (range) => {
  const window = chartWindow({ range }, now);
  const { segments } = window;
  expect(segments[0]?.from).toEqual(window.from);
  for (const [index, segment] of segments.entries()) {
    if (index > 0) expect(segment.from).toEqual(segments[index - 1]?.until);
    expect(segment.from < segment.until).toBe(true);
  }
  expect(window.to.getTime() - window.from.getTime()).toBe(metricRangePlans[range].lengthMs);
  expect((window.to.getTime() - window.from.getTime()) % window.stepMs).toBe(0);
});

test('short ranges show whole steps only; long ones end in the running step, read from finer rows', () => {
  expect(chartWindow({ range: '15m' }, now).to).toEqual(new Date('2026-11-20T12:34:50Z'));
  const week = chartWindow({ range: '7d' }, now);
  expect(week.to).toEqual(new Date('2026-11-20T13:00:00Z'));
  expect(week.segments.map(({ resolution }) => resolution)).toEqual(['1h', '1m', '1s']);
  expect(week.segments[2]?.until).toEqual(now);
});

test('right after the hour, the hour before is still read from minutes', () => {
  const segments = segmentsOf(
    '1h',
    Date.parse('2026-11-20T00:00:00Z'),
    Date.parse('2026-11-20T12:02:00Z'),
    new Date('2026-11-20T12:02:00Z'),
  );
  expect(segments[0]?.until).toEqual(new Date('2026-11-20T11:00:00Z'));
  expect(segments[1]).toMatchObject({ resolution: '1m', until: new Date('2026-11-20T11:59:00Z') });
});

test('a running step is measured by its elapsed part', () => {
  expect(elapsedSeconds(now.getTime() - 60_000, 3_600_000, now)).toBe(60);
  expect(elapsedSeconds(now.getTime() - 7_200_000, 3_600_000, now)).toBe(3600);
  expect(elapsedSeconds(now.getTime(), 3_600_000, now)).toBe(1);
});

const at = (text: string) => new Date(`2026-${text}Z`);

test('a period between two times has the finest steps that are still kept', () => {
  const recent = chartWindow({ from: at('11-20T12:00:02'), to: at('11-20T12:10:01') }, now);
  expect(recent).toMatchObject({ stepMs: 5000, from: at('11-20T12:00:00'), to: at('11-20T12:10:05') });
  expect(recent.segments.map(({ resolution }) => resolution)).toEqual(['1s']);
  const old = chartWindow({ from: at('11-15T12:00:00'), to: at('11-15T12:10:00') }, now);
  expect(old.segments).toEqual([{ resolution: '1m', from: at('11-15T12:00:00'), until: at('11-15T12:10:00') }]);
  const older = chartWindow({ from: at('08-01T00:30:00'), to: at('08-03T00:00:00') }, now);
  expect(older).toMatchObject({ stepMs: 3_600_000, from: at('08-01T00:00:00'), to: at('08-03T00:00:00') });
});

test('a period that has not ended shows what there is, and one that has not begun is one step', () => {
  const running = chartWindow({ from: at('11-20T12:30:00'), to: at('11-20T12:45:00') }, now);
  expect(running.to).toEqual(at('11-20T12:34:50'));
  const future = chartWindow({ from: at('11-21T00:00:00'), to: at('11-21T01:00:00') }, now);
  expect(future.to.getTime() - future.from.getTime()).toBe(future.stepMs);
});

test.each([{ range: '15m' }, { range: '30d' }, { from: at('11-20T10:00:00'), to: at('11-20T12:00:00') }] as const)(
  'the previous period of %j is as long and ends where it begins',
  (period) => {
    const [window, previous] = [chartWindow(period, now), chartWindow({ ...period, previous: true }, now)];
    expect(previous.to).toEqual(window.from);
    expect(window.from.getTime() - previous.from.getTime()).toBe(window.to.getTime() - window.from.getTime());
  },
);

test.each([
  { range: '15m' },
  { range: '24h' },
  { range: '30d' },
  { from: at('11-15T12:10:00'), to: at('11-15T18:20:00') },
] as const)('a sum over %j covers exactly the time of its chart, with rows that lie in it whole', (period) => {
  const unitMs = { '1s': 1000, '1m': 60_000, '1h': 3_600_000 };
  const window = chartWindow(period, now);
  const segments = sumSegments(window, now);
  expect(segments[0]?.from).toEqual(window.from);
  expect(segments.at(-1)?.until).toEqual(new Date(Math.min(window.to.getTime(), now.getTime())));
  for (const [index, { resolution, from }] of segments.entries()) {
    if (index > 0) expect(from).toEqual(segments[index - 1]?.until);
    expect(from.getTime() % unitMs[resolution]).toBe(0);
  }
});
