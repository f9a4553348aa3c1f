// Tests that the estimate of an agent's clock contains its true offset, and prefers short round trips.
import { expect, test } from 'vitest';
import { type ClockSample, estimateClock, withSample } from './clock-estimate.ts';

/** Sample of an agent with an offset, whose ping took `thereMs` and whose pong took `backMs`. */
function sample(sentMs: number, thereMs: number, backMs: number, offsetUs: number): ClockSample {
  return {
    sentMs: Math.floor(sentMs),
    receivedMs: Math.floor(sentMs + thereMs + backMs),
    agentUs: Math.round((sentMs + thereMs) * 1000 + offsetUs),
  };
}

test('without a sample there is no estimate', () => {
  expect(estimateClock([], 0)).toBeNull();
});

test('the true offset is within the uncertainty, however the round trip is divided', () => {
  for (const offsetUs of [0, 1_500, -3_600_000_000, 250]) {
    for (const thereMs of [0, 0.2, 3, 40]) {
      for (const backMs of [0, 0.7, 5, 90]) {
        for (const fraction of [0, 0.3, 0.999]) {
          const one = sample(1_000_000 + fraction, thereMs, backMs, offsetUs);
          const { offsetUs: found, uncertaintyUs } = estimateClock([one], one.receivedMs) ?? expect.fail();
          expect(Math.abs(found - offsetUs)).toBeLessThanOrEqual(uncertaintyUs + 1);
          expect(uncertaintyUs).toBe(((one.receivedMs - one.sentMs + 1) / 2) * 1000);
        }
      }
    }
  }
});

test('the sample with the smallest round trip decides', () => {
  const samples = [sample(1000, 30, 2, 700), sample(1040, 1, 1, 700), sample(1080, 3, 60, 700)];
  expect(estimateClock(samples, 1200)).toEqual(estimateClock(samples.slice(1, 2), 1200));
});

test('an old short round trip gives way to a longer new one once its drift is larger', () => {
  const samples = [sample(0, 0, 0, 5000), sample(20_000, 1, 1, 5600)];
  expect(estimateClock(samples, 20_010)?.uncertaintyUs).toBe(1500);
  const later = [...samples, sample(60_000, 1, 1, 6900)];
  expect(estimateClock(later, 60_010)?.offsetUs).toBe(estimateClock(later.slice(2), 60_010)?.offsetUs);
});

test('a clock that is set makes the older samples void', () => {
  const before = [sample(1000, 0, 0, 0), sample(1010, 0, 0, 0)];
  const set = sample(1500, 20, 20, 60_000_000);
  expect(withSample(before, set)).toEqual([set]);
  expect(withSample(before, sample(1500, 20, 20, 0))).toHaveLength(3);
});

test('only the latest samples are kept', () => {
  let samples: readonly ClockSample[] = [];
  for (let at = 0; at < 40; at += 1) samples = withSample(samples, sample(at * 1000, 1, 1, 0));
  expect(samples).toHaveLength(16);
  expect(samples.at(-1)?.sentMs).toBe(39_000);
});
