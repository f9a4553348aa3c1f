import { expect, test } from 'vitest';
import { isNoisy, otherShare, stealShare } from './noise.ts';
import type { MachineNoise } from './schema.ts';

const calm: MachineNoise = { machineCpuUs: 2_000_000, otherCpuUs: 60_000, stealUs: 0, frequencyMhz: 2400 };

test('shares are those of the whole machine, and unknown ones are not zero', () => {
  expect(otherShare(calm)).toBe(0.03);
  expect(stealShare({ ...calm, stealUs: 100_000 })).toBe(0.05);
  expect([otherShare(null), stealShare(undefined), otherShare({ ...calm, otherCpuUs: null })]).toEqual([
    null,
    null,
    null,
  ]);
  expect(otherShare({ ...calm, machineCpuUs: 0 })).toBeNull();
});

test('a row is noisy by other processes or by stolen time, and not without a sample', () => {
  expect([calm, null, { ...calm, otherCpuUs: null }].map(isNoisy)).toEqual([false, false, false]);
  expect(isNoisy({ ...calm, otherCpuUs: 300_000 })).toBe(true);
  expect(isNoisy({ ...calm, otherCpuUs: null, stealUs: 50_000 })).toBe(true);
});
