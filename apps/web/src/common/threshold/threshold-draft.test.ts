import { gateMetrics, thresholdMetrics, thresholdSchema, thresholdsMax } from '@fairlead/core/benchmark/schema';
import { formatsOf } from '@fairlead/ui/formats';
import { expect, test } from 'vitest';
import {
  ALL_METRICS,
  describeThreshold,
  draftError,
  emptyDraft,
  GATE_METRICS,
  parseDraft,
  THRESHOLDS_MAX,
  toDraft,
} from './threshold-draft.ts';

const formats = formatsOf({ locale: 'en-US', timeZone: 'UTC' });

test('every metric has a look, and a form offers it', () => {
  expect(ALL_METRICS.toSorted()).toEqual(thresholdMetrics.toSorted());
  expect(GATE_METRICS.toSorted()).toEqual(gateMetrics.toSorted());
  expect(THRESHOLDS_MAX).toBe(thresholdsMax);
});

test('a threshold survives the form, and is valid', () => {
  for (const threshold of [
    { metric: 'p99_ms', max: 20 },
    { metric: 'success_percent', min: 99.9, target: 'proxy', protocol: 'http2', concurrency: 32 },
    { metric: 'memory_bytes', max: 64 * 1024 * 1024 },
  ] as const) {
    expect(parseDraft(toDraft(threshold))).toEqual(threshold);
    expect(thresholdSchema.safeParse(threshold).success).toBe(true);
  }
});

test('a limit that is no number, or can never pass, is an error at its field', () => {
  expect(draftError(emptyDraft())).toMatch('Enter a number');
  expect(draftError({ ...emptyDraft(), limit: 'fast' })).toMatch('Enter a number');
  expect(draftError({ ...emptyDraft(), limit: '-1' })).toMatch('Enter a number');
  expect(draftError({ ...emptyDraft(), limit: '0' })).toMatch('never pass');
  expect(draftError({ ...emptyDraft('success_percent'), limit: '101' })).toMatch('at most 100');
  expect(draftError({ ...emptyDraft(), limit: '20' })).toBeNull();
  expect(draftError({ ...emptyDraft('requests_per_second'), limit: '0' })).toBeNull();
});

test('a threshold reads as a sentence', () => {
  expect(describeThreshold({ metric: 'p99_ms', max: 20 }, formats)).toBe('p99 at most 20 ms');
  expect(describeThreshold({ metric: 'requests_per_second', min: 1500 }, formats)).toBe('Requests/s at least 1,500');
});
