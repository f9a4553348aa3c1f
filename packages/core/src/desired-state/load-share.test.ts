// Tests that the shares of all load servers make up the plan.
import { expect, test } from 'vitest';
import { benchmarkPlanSchema } from '../benchmark/schema.ts';
import { shareOf } from './load-share.ts';

test('clients and rates of all load servers add up to those of the plan', () => {
  const plan = benchmarkPlanSchema.parse({
    ...{ targets: ['proxy'], concurrency: [3, 8, 1000], requestsPerSecond: 100 },
    load: { stages: [{ durationMs: 500, requestsPerSecond: 250 }] },
  });
  for (const loadServers of [1, 2, 3]) {
    const shares = Array.from({ length: loadServers }, (_, position) => shareOf(plan, position, loadServers));
    const sum = (figure: (share: typeof plan) => number) => shares.reduce((total, share) => total + figure(share), 0);
    for (const [at, clients] of plan.concurrency.entries()) {
      expect(sum(({ concurrency }) => concurrency[at] ?? 0)).toBe(clients);
      expect(shares.every(({ concurrency }) => (concurrency[at] ?? 0) > 0)).toBe(true);
    }
    expect(sum(({ requestsPerSecond }) => requestsPerSecond ?? 0)).toBeCloseTo(100);
    expect(sum(({ load }) => load.stages[0]?.requestsPerSecond ?? 0)).toBeCloseTo(250);
    expect(shares.map(({ durationMs }) => durationMs)).toEqual(shares.map(() => plan.durationMs));
  }
});
