// Permission matrix: every procedure, called by every role, with own, foreign and unknown ids; and a failure for a
// planted leak. `npm run check:tenancy` sends foreign ids as every role.
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { appIdSchema } from '@fairlead/contract/ids';
import { appPageSchema, listApps } from '@fairlead/core/app';
import { deploymentRefSchema, promoteRelease, promoteReleaseInputSchema } from '@fairlead/core/deployment';
import { detachDomain, domainRefSchema } from '@fairlead/core/domain';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { inSystemScope } from './context.ts';
import { memberProcedure, router } from './procedures.ts';
import { open, waitsForApproval } from './protection.ts';
import { apiRouter } from './router.ts';
import { byDomain, byEnvironment } from './scopes.ts';
import { startTestApi, type TestApi } from './testing/index.ts';
import { checkMatrix, declaredRoutes } from './testing/matrix/index.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.close());

// Minutes on a quiet machine; a busy one may take many times as long.
const allProceduresMs = 1_200_000;

test('every procedure answers as it declares', { timeout: allProceduresMs }, async () => {
  const report = await checkMatrix(api, { short: true });
  expect(report.leaks).toEqual([]);
  expect(report.procedures).toBe(Object.keys(apiRouter._def.procedures).length);
  expect(report.calls).toBeGreaterThan(report.procedures * 20);
  // The same calls succeed without the protection: in an open environment, and for a person who may act in both.
  expect(report.effective).toEqual(expect.arrayContaining(harmful));
  // Samples of these two switch private network access on. No release or settings of the stage's apps has it.
  expect(report.withheld).toEqual(['app.create', 'config.update']);
  expect(report.crossing).toEqual(
    expect.arrayContaining(['app.addEnvironment', 'app.attachServer', 'config.update', 'deployment.promote']),
  );
});

const harmful = ['app', 'credential', 'secret'].map((slug) => `${slug}.update`);
harmful.push(
  'app.scale',
  'config.restore',
  'config.update',
  'deployment.pause',
  'deployment.restart',
  'secret.detachGroup',
);
harmful.push('domain.attach', 'domain.detach', 'domain.updatePolicy', 'server.updateProxy');
harmful.push('push.updateRules', 'webhook.create', 'webhook.delete', 'webhook.rotate');
harmful.push(
  'domain.attach',
  'domain.detach',
  'domain.updateBase',
  'domain.updatePolicy',
  'server.updateAddresses',
  'server.updateProxy',
);

const input = z.object({ appId: appIdSchema });
const protection = open('planted');
const output = z.object({ name: z.string() }).nullable();
const planted = {
  'a procedure that forgets its tenant check': memberProcedure('app.read', { input })
    .output(output)
    .query(({ ctx, input: { appId } }) =>
      inSystemScope(ctx, 'a planted leak', ({ tx }) => tx.app.findUnique({ where: { id: appId } })),
    ),
  'a procedure that changes what is not its organization’s': memberProcedure('app.write', {
    input,
    protection,
  })
    .output(output)
    .mutation(({ ctx, input: { appId } }) =>
      inSystemScope(ctx, 'a planted leak', async ({ tx }) => {
        await tx.app.updateMany({ where: { id: appId }, data: { healthPath: '/stolen' } });
        return null;
      }),
    ),
  'a list that shows more than the grants of who asks cover': memberProcedure('app.read', { lists: 'environment' })
    .output(appPageSchema)
    .query(({ ctx }) => listApps(ctx.core, { limit: 50 }, ctx.config)),
  'a mutation that reaches into a protected environment': memberProcedure('domain.write', {
    input: domainRefSchema,
    scope: byDomain,
    protection,
  })
    .output(domainRefSchema)
    .mutation(({ ctx, input: domain }) => detachDomain(ctx.core, domain)),
  'a mutation that judges one of its two references': memberProcedure('deployment.write', {
    input: promoteReleaseInputSchema,
    scope: byEnvironment,
    protection: waitsForApproval,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input: promotion }) => promoteRelease(ctx.core, promotion)),
};

test('every route of the web app is declared, and every declared one exists', () => {
  const cwd = fileURLToPath(new URL('../../../apps/web/src/app', import.meta.url));
  // A star matches no folder that begins with a dot.
  const files = globSync(['**/route.ts', '**/.*/**/route.ts'], { cwd });
  expect(files.sort()).toEqual(Object.keys(declaredRoutes).sort());
});

test('an undeclared route is found', { timeout: allProceduresMs }, async () => {
  const leaky = (): Promise<Response> => Promise.resolve(new Response('here'));
  const routes = { 'api/trpc/[trpc]/route.ts': { GET: leaky, DELETE: leaky } };
  const { leaks } = await checkMatrix(api, { router: router({}), routes });
  expect(leaks).toContain('api/trpc/[trpc]/route.ts answers to DELETE, which nobody declared');
  expect(leaks).toContain('healthz/route.ts is declared, but there is no such route');
  expect(leaks.some((leak) => leak.includes('answered 200 where 404 is declared'))).toBe(true);
});

test.each(Object.entries(planted))('%s is found', { timeout: allProceduresMs }, async (_what, procedure) => {
  const { leaks } = await checkMatrix(api, { router: router({ planted: procedure }) });
  expect(leaks.length).toBeGreaterThan(0);
  expect(leaks.filter((leak) => !leak.startsWith('planted'))).toEqual([]);
});
