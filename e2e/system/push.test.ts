// Pushes become deployments: the short form of `npm run check:push`.
import { expect, test } from 'vitest';
import { checkPushes } from '../push/push-check.ts';
import { isClean } from '../push/push-count.ts';

test('forty pushes with duplicates, in disorder and with a killed gateway: none is lost or doubled', {
  timeout: 600_000,
}, async () => {
  const report = await checkPushes({ pushes: 40, repositories: 2, seed: 7, disturbances: ['gateway'] });
  expect(report).toMatchObject({ lost: 0, doubled: 0 });
  expect(isClean(report)).toBe(true);
  expect(report.duplicates).toBeGreaterThan(0);
});
