// The whole matrix: every procedure, as everybody, with own, foreign and unknown ids; and that it fails on a planted leak.
import { appIdSchema } from '@fairlead/contract/ids';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { memberProcedure, router } from './ladder.ts';
import { apiRouter } from './router.ts';
import { inSystemScope } from './system-scope.ts';
import { startTestApi, type TestApi } from './testing/index.ts';
import { checkMatrix } from './testing/matrix/index.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.close());

const allProceduresMs = 300_000;

test('every procedure answers as it declares', { timeout: allProceduresMs }, async () => {
  const report = await checkMatrix(api);
  expect(report.leaks).toEqual([]);
  expect(report.procedures).toBe(Object.keys(apiRouter._def.procedures).length);
  expect(report.calls).toBeGreaterThan(report.procedures * 20);
});

const input = z.object({ appId: appIdSchema });
const output = z.object({ name: z.string() }).nullable();
const planted = {
  'a procedure that forgets its tenant check': memberProcedure('app.read')
    .input(input)
    .output(output)
    .query(({ ctx, input: { appId } }) =>
      inSystemScope(ctx, 'a planted leak', ({ tx }) => tx.app.findUnique({ where: { id: appId } })),
    ),
  'a procedure that changes what is not its organization’s': memberProcedure('app.write')
    .input(input)
    .output(output)
    .mutation(({ ctx, input: { appId } }) =>
      inSystemScope(ctx, 'a planted leak', async ({ tx }) => {
        await tx.app.updateMany({ where: { id: appId }, data: { healthPath: '/stolen' } });
        return null;
      }),
    ),
};

test.each(Object.entries(planted))('%s is found', { timeout: allProceduresMs }, async (_what, procedure) => {
  const { leaks } = await checkMatrix(api, router({ planted: procedure }));
  expect(leaks.length).toBeGreaterThan(0);
  expect(leaks.every((leak) => leak.startsWith('planted'))).toBe(true);
});
