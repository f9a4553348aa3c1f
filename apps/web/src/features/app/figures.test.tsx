import { newId } from '@fairlead/contract/ids';
import type { AppSample } from '@fairlead/contract/live';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import type { AppDetail, AppMetric } from '../../api/types.ts';
import { type AppFigures, mergeSamples } from '../../common/app/app-figures.ts';
import {
  type CurrentFiguresInput,
  coresOf,
  currentFigures,
  listedP99,
  streamedTotals,
} from '../../common/figure/figures.ts';
import { FigureList } from './figures.tsx';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const STEP_MS = 5000;
const minutesAgo = (minutes: number) => NOW - minutes * 60_000;

function point(at: number, change: Partial<AppMetric['points'][number]> = {}): AppMetric['points'][number] {
  const rates = { requestsPerSecond: 0, errorsPerSecond: 0, clientErrorsPerSecond: 0 };
  const none = { p50Ms: null, p95Ms: null, p99Ms: null, cpuMillis: null, memoryBytes: null, inFlight: null };
  return { at: new Date(at), ...rates, ...none, ...change };
}

const busy = {
  requestsPerSecond: 59.9,
  errorsPerSecond: 0.004,
  p50Ms: 3.52,
  p95Ms: 10.5,
  p99Ms: 39.9,
  cpuMillis: 290,
  memoryBytes: 97_307_852,
};

function appIn(...states: AppDetail['instances'][number]['state'][]): CurrentFiguresInput['app'] {
  const instances = states.map((state) => ({ state })) as AppDetail['instances'];
  return { requestsPerSecond: 12, errorsPerSecond: 0, serverConnected: true, instances };
}

const base: CurrentFiguresInput = {
  app: appIn('healthy'),
  live: undefined,
  points: [],
  stepMs: STEP_MS,
  isStreaming: true,
  openedAt: minutesAgo(20),
  now: NOW,
};

/** Returns each figure as the page shows it. */
function shown(input: Partial<CurrentFiguresInput>, cores = 2): Record<string, string> {
  const html = renderToStaticMarkup(
    <FigureList figures={currentFigures({ ...base, ...input })} cores={cores} now={NOW} />,
  );
  const cells = [...html.matchAll(/<dt[^>]*>(.*?)<\/dt><dd class="([^"]*)">(.*?)<\/dd>/g)];
  return Object.fromEntries(
    cells.map(([, label = '', look = '', value = '']) => [
      label,
      `${value
        .replace(/<[^>]*>/g, ' ')
        .replaceAll('&lt;', '<')
        .trim()
        .replace(/ +/g, ' ')}${/text-bad/.test(look) ? ' (red)' : ''}${/text-ink-faint/.test(look) ? ' (grey)' : ''}`,
    ]),
  );
}

const live: AppFigures = { ...busy, at: NOW - 1000, latencyAt: NOW - 1000, clientErrorsPerSecond: 0 };

describe('current figures', () => {
  test('a live sample is shown as it is; CPU is a share of the machine with its cores named', () => {
    expect(shown({ live })).toEqual({
      'Requests/s': '59.9',
      p50: '3.52 ms',
      p95: '10.5 ms',
      p99: '39.9 ms',
      'Errors/s': '<0.01 (red)',
      'CPU of 2 cores': '14.5 %',
      Memory: '92.8 MiB',
    });
    expect(shown({ live }, 0)).toMatchObject({ CPU: '0.29 cores' });
  });

  test('zero errors are neutral', () => {
    expect(shown({ live: { ...live, errorsPerSecond: 0 } })).toMatchObject({ 'Errors/s': '0' });
  });

  test('before the first sample the rates are those of the API, and the rest is of the newest step', () => {
    expect(shown({ openedAt: NOW, points: [point(NOW - 6000, busy)] })).toMatchObject({
      'Requests/s': '12',
      p50: '3.52 ms',
      'CPU of 2 cores': '14.5 %',
    });
  });

  test('an idle app has zero requests, and its three quantiles are old together', () => {
    const idle = { requestsPerSecond: 0, cpuMillis: 2, memoryBytes: 97_307_852 };
    const points = [point(minutesAgo(9) - STEP_MS, busy), point(NOW - STEP_MS, idle)];
    expect(shown({ points })).toEqual({
      'Requests/s': '0',
      p50: '3.52 ms 9 min ago (grey)',
      p95: '10.5 ms 9 min ago (grey)',
      p99: '39.9 ms 9 min ago (grey)',
      'Errors/s': '0',
      'CPU of 2 cores': '0.1 %',
      Memory: '92.8 MiB',
    });
  });

  test.each(['stopped', 'crashed', 'crash_looping', 'asleep'] as const)(
    'an app whose instances are %s has no CPU and no memory',
    (state) => {
      const figures = shown({ app: appIn(state), points: [point(minutesAgo(10), busy)] });
      expect(figures).toMatchObject({ 'CPU of 2 cores': '–', Memory: '–', 'Requests/s': '0' });
    },
  );

  test('an app without instances or samples has dashes', () => {
    expect(shown({ app: appIn() })).toMatchObject({ 'Requests/s': '0', p50: '–', p99: '–', Memory: '–' });
  });

  test('figures of a disconnected server, and of a page without its stream, are grey with their age', () => {
    const points = [point(minutesAgo(10) - STEP_MS, busy)];
    const offline = { ...base.app, serverConnected: false };
    expect(shown({ app: offline, points })).toMatchObject({
      'Requests/s': '59.9 10 min ago (grey)',
      'CPU of 2 cores': '14.5 % 10 min ago (grey)',
      Memory: '92.8 MiB 10 min ago (grey)',
    });
    const old = { ...live, at: minutesAgo(2), latencyAt: minutesAgo(2) };
    expect(shown({ live: old, isStreaming: false })).toMatchObject({ 'Requests/s': '59.9 2 min ago (grey)' });
    expect(shown({ live: old })).toMatchObject({ 'Requests/s': '0', p99: '39.9 ms 2 min ago (grey)' });
  });
});

test('totals stream: samples after the last whole step are added', () => {
  const to = new Date(NOW - 4000);
  const totals = { requests: 39, errors: 0, clientErrors: 1, p50Ms: 1, p95Ms: 2, p99Ms: 5.5 };
  const sample = { requestsPerSecond: 60, errorsPerSecond: 1, clientErrorsPerSecond: 2 } as AppSample;
  const samples = [NOW - 5000, NOW - 4000, NOW - 3000].map((unixMs) => ({ ...sample, unixMs }));
  expect(streamedTotals({ totals, to }, samples)).toEqual({ requests: 159, errors: 2, clientErrors: 5, p99Ms: 5.5 });
});

test('lists show the p99 of the page, and none after five quiet minutes', () => {
  const sample: AppSample = {
    type: 'app.sample',
    appId: newId('app'),
    environmentId: newId('env'),
    serverId: newId('srv'),
    unixMs: NOW,
    requestsPerSecond: 1,
    errorsPerSecond: 0,
    clientErrorsPerSecond: 0,
    latency: [40, 1],
    bytesReceivedPerSecond: 0,
    bytesSentPerSecond: 0,
    cpuMillis: 0,
    memoryBytes: 0,
    inFlight: 0,
  };
  const app = { p99Ms: 7 };
  const before = mergeSamples([sample]);
  expect(listedP99(app, undefined)).toBe(7);
  expect(listedP99(app, before)).toBe(before.p99Ms);
  const quiet = mergeSamples([{ ...sample, latency: [], unixMs: NOW + 301_000 }], before);
  expect(quiet.p99Ms).toBe(before.p99Ms);
  expect(listedP99(app, quiet)).toBeNull();
});

test('the machine of an app is all its servers, unknown while one of them is', () => {
  expect(coresOf([{ cpuCount: 2 }, { cpuCount: 8 }])).toBe(10);
  expect(coresOf([{ cpuCount: 2 }, { cpuCount: 0 }])).toBe(0);
  expect(coresOf([])).toBe(0);
});
