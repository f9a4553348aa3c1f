import { describe, expect, test } from 'vitest';
import { clockFormats } from '../../lib/clock-format.ts';
import { type Marker, placeMarkers } from './markers.ts';
import { endLabels, median, prepareMultiples } from './multiples.ts';
import { sparklinePaths } from './sparkline.ts';
import { cursorLabel, niceScale, timeLabel, timeTicks } from './ticks.ts';
import {
  fractionOf,
  loneTimes,
  nearestRow,
  scaleOf,
  type TimeRow,
  withGaps,
  withPrevious,
  zoomed,
} from './time-series.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function row(at: number, value: number | null = 1): TimeRow {
  return { at, values: { a: value } };
}

test('an isolated value between gaps is reported, because no line reaches it', () => {
  const rows = [row(0), row(1, null), row(2), row(3, null), row(4), row(5)];
  expect([...loneTimes(rows, 'a')]).toEqual([0, 2]);
});

describe('scales', () => {
  test.each([
    [0, [0, 1]],
    [Number.NaN, [0, 1]],
    [0.03, [0, 0.01, 0.02, 0.03]],
    [7, [0, 2.5, 5, 7.5]],
    [100, [0, 50, 100]],
    [1234, [0, 500, 1000, 1500]],
  ])('a peak of %d gets the marks %j', (peak, ticks) => expect(niceScale(peak).ticks).toEqual(ticks));

  test('the scale always reaches the peak', () => {
    for (let peak = 0.001; peak < 1e9; peak *= 1.37) {
      const scale = niceScale(peak);
      expect(scale.max).toBeGreaterThanOrEqual(peak * 0.9999);
      expect(scale.ticks.length).toBeLessThanOrEqual(5);
    }
  });

  test('bytes count in powers of 1024', () => {
    expect(niceScale(300 * 1024 ** 2, 3, 1024).ticks).toEqual([0, 100, 200, 300].map((mib) => mib * 1024 ** 2));
  });
});

describe('time axis', () => {
  const noon = Date.UTC(2026, 10, 20, 12);
  test('ticks are on whole units of the viewer’s zone', () => {
    expect(timeTicks(noon - 15 * MINUTE, noon, 6)).toEqual([15, 10, 5, 0].map((minutes) => noon - minutes * MINUTE));
    const half = 5.5 * HOUR;
    for (const tick of timeTicks(noon - 24 * HOUR, noon, 6, half)) expect((tick + half) % (4 * HOUR)).toBe(0);
  });

  test('an empty or reversed span has no ticks', () => {
    expect(timeTicks(noon, noon, 6)).toEqual([]);
    expect(timeTicks(noon, noon - 1, 6)).toEqual([]);
  });

  test('labels are as precise as the span requires', () => {
    const british = clockFormats('en-GB', 'UTC');
    expect(timeLabel(noon, HOUR, british)).toBe('12:00');
    expect(timeLabel(noon, 7 * 24 * HOUR, british)).toBe('20 Nov');
    expect(cursorLabel(noon + 5000, HOUR, british)).toBe('12:00:05');
    expect(cursorLabel(noon, 24 * HOUR, british)).toBe('20 Nov, 12:00');
    expect(timeLabel(noon, HOUR, clockFormats('de-DE', 'Asia/Kolkata'))).toBe('17:30');
  });
});

describe('time series', () => {
  test('missing time becomes a gap, a late sample does not', () => {
    const rows = withGaps([row(0), row(1000), row(3000), row(9000)], 1000);
    expect(rows.map((each) => [each.at, each.values.a])).toEqual([
      [0, 1],
      [1000, 1],
      [3000, 1],
      [4000, null],
      [9000, 1],
    ]);
  });

  test('unordered rows are sorted', () => {
    expect(withGaps([row(2000), row(1000)], 1000).map((each) => each.at)).toEqual([1000, 2000]);
  });

  test('the scale covers all series and ignores missing values', () => {
    const rows: TimeRow[] = [
      { at: 0, values: { low: 3, high: null } },
      { at: 1, values: { low: null, high: 80 } },
    ];
    expect(scaleOf(rows, ['low', 'high'], 1000).max).toBe(100);
    expect(scaleOf(rows, ['low'], 1000, 10).max).toBe(10);
  });

  test('the cursor finds the nearest row and nothing inside a gap', () => {
    const rows = [row(0), row(1000), row(9000)];
    expect(nearestRow(rows, 700, 1000)?.at).toBe(1000);
    expect(nearestRow(rows, 5000, 1000)).toBeNull();
    expect(nearestRow(rows, 99_000, 1000)).toBeNull();
    expect(nearestRow([], 0, 1000)).toBeNull();
  });

  test('fractions end at the edges', () => {
    expect(fractionOf(25, 0, 100)).toBe(0.25);
    expect(fractionOf(-1, 0, 100)).toBeNull();
    expect(fractionOf(1, 1, 1)).toBeNull();
  });

  test('stacked series are scaled by their sum', () => {
    const rows: TimeRow[] = [{ at: 0, values: { ok: 60, failed: 30, line: 70 } }];
    expect(scaleOf(rows, ['ok', 'failed', 'line'], 1000, 0, ['ok', 'failed']).max).toBe(100);
    expect(scaleOf(rows, ['ok', 'failed', 'line'], 1000, 0).max).toBe(75);
  });

  test('the period before is drawn on the steps of this one', () => {
    const rows = [row(60_000, 1), row(65_000, 2)];
    const previous = [row(0, 7), row(2000, 9)];
    expect(withPrevious(rows, previous, ['a'], 5000, 60_000).map(({ values }) => values)).toEqual([
      { a: 1, 'before:a': 9 },
      { a: 2, 'before:a': null },
    ]);
  });

  test('a zoom keeps the time under the cursor in its place and never ends after now', () => {
    const span = { from: 0, to: 100_000 };
    expect(zoomed(span, 25_000, 0.5, 1e9)).toEqual({ from: 12_500, to: 62_500 });
    expect(zoomed(span, 50_000, 2, 100_000)).toEqual({ from: -100_000, to: 100_000 });
    expect(zoomed(span, 50_000, 0.001, 1e9)).toEqual({ from: 45_000, to: 55_000 });
  });
});

describe('deployment markers', () => {
  const marker = (id: string, at: number): Marker => ({ id, at, label: id, title: id, href: '#', tone: 'ok' });

  test('markers outside of the span are left out', () => {
    expect(
      placeMarkers([marker('a', -5), marker('b', 50), marker('c', 200)], 0, 100, 0.1).map((each) => each.id),
    ).toEqual(['b']);
  });

  test('when labels would overlap the newest keeps its own', () => {
    const placed = placeMarkers([marker('old', 40), marker('new', 45)], 0, 100, 0.1);
    expect(placed.map((each) => [each.id, each.labelled])).toEqual([
      ['old', false],
      ['new', true],
    ]);
  });

  test('at the right edge the label is to the left', () => {
    const [edge] = placeMarkers([marker('edge', 99)], 0, 100, 0.1);
    expect(edge).toMatchObject({ flip: true, labelled: true });
  });
});

describe('small multiples', () => {
  const measured = [
    { panel: 'HTTP/2', series: 'proxy', x: 8, value: 900 },
    { panel: 'HTTP/2', series: 'proxy', x: 8, value: 1100 },
    { panel: 'HTTP/2', series: 'proxy', x: 8, value: 1000 },
    { panel: 'HTTP/2', series: 'direct', x: 1, value: 400 },
    { panel: 'HTTP/1.1', series: 'proxy', x: 1, value: 300 },
    { panel: 'HTTP/1.1', series: 'proxy', x: 64, value: Number.NaN },
  ];

  test('repeats become a median with a band, panels share one scale', () => {
    const { panels, xs, scale } = prepareMultiples(measured);
    expect(panels.map((panel) => panel.title)).toEqual(['HTTP/2', 'HTTP/1.1']);
    expect(panels[0]?.lines[0]).toEqual({ series: 'proxy', cells: [{ x: 8, middle: 1000, low: 900, high: 1100 }] });
    expect(xs).toEqual([1, 8]);
    expect(scale.max).toBeGreaterThanOrEqual(1100);
  });

  test('the median of an even number of repeats lies between the middle two', () =>
    expect(median([1, 2, 4, 9])).toBe(3));

  test('no measurements draw nothing', () => expect(prepareMultiples([]).panels).toEqual([]));

  test('end labels never overlap and stay inside the plot', () => {
    const lines = [0, 1, 2].map((value) => ({
      series: `s${value}`,
      cells: [{ x: 1, middle: value, low: value, high: value }],
    }));
    const labels = endLabels({ title: 't', lines }, 100, 0.1);
    const tops = labels.map((label) => label.top);
    expect(tops[2]).toBe(1);
    for (let index = 1; index < tops.length; index += 1) {
      expect((tops[index] ?? 0) - (tops[index - 1] ?? 0)).toBeGreaterThanOrEqual(0.0999);
    }
    expect(labels.map((label) => label.series)).toEqual(['s2', 's1', 's0']);
  });
});

describe('sparkline', () => {
  test('the outline spans the whole width and keeps its stroke inside', () => {
    const paths = sparklinePaths([0, 5, 10], 100, 20);
    expect(paths?.line).toBe('M0 19L50 10L100 1');
    expect(paths?.area.endsWith('L100 20L0 20Z')).toBe(true);
  });

  test('zeros have no outline', () => {
    expect(sparklinePaths([0, 0, 0], 100, 20)).toBeNull();
    expect(sparklinePaths([3], 100, 20)).toBeNull();
  });
});
