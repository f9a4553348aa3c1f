import { metricRangePlans, metricRanges } from '@fairlead/contract/metrics';
import { expect, test } from 'vitest';
import { chartWindow, elapsedSeconds, segmentsOf } from './windows.ts';

const now = new Date('2026-11-20T12:34:56.700Z');

test.each(metricRanges)('the rows of %s join without gap or overlap', (range) => {
  const window = chartWindow(range, now);
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
  expect(chartWindow('15m', now).to).toEqual(new Date('2026-11-20T12:34:50Z'));
  const week = chartWindow('7d', now);
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
