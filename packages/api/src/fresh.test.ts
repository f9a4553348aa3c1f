// Fresh sessions: lists the procedures with changes that outlive a session, and checks that each requires a fresh
// one.
import { TRPCError } from '@trpc/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiRouter } from './router.ts';
import { startTestApi, type TestApi } from './testing/index.ts';
import { declaredProcedures } from './testing/matrix/declared.ts';

const fresh = [
  'app.move',
  'app.purge',
  'benchmark.publish',
  'certificate.add',
  'certificate.delete',
  'certificate.update',
  'controlPlane.startBackup',
  'controlPlane.startUpdate',
  'credential.rotateKey',
  'credential.update',
  'dashboardDomain.add',
  'dashboardDomain.delete',
  'deployment.approve',
  'dnsProvider.create',
  'dnsProvider.update',
  'environment.update',
  'github.completeInstall',
  'github.completeRegistration',
  'github.deleteApp',
  'github.startInstall',
  'github.startRegistration',
  'github.updateWebhook',
  'grant.create',
  'host.release',
  'host.transfer',
  'invitation.create',
  'invitation.rotate',
  'member.update',
  'organization.delete',
  'organization.restore',
  'organization.transfer',
  'organization.update',
  'preview.approve',
  'preview.updatePolicy',
  'role.create',
  'role.update',
  'secret.reveal',
  'server.enrol',
  'server.moveApps',
  'server.uninstall',
  'serviceAccount.create',
  'serviceAccount.createToken',
  'serviceAccount.update',
  'token.create',
  'volumeMove.retry',
  'webhook.create',
  'webhook.rotate',
];

/** Permissions that let a person leave a right or a way in, open a source, or remove a protection. */
const lasting =
  /^(member\.(invite|write)|project\.write|role\.write|token\.write|server\.enrol|environment\.write|secret\.(reveal|write)|deployment\.approve|organization\.(write|delete|transfer))$/;

/** Mutations under such a permission that leave nothing behind. Add a new one here with its reason, or make it fresh. */
const notLasting: Readonly<Record<string, string>> = {
  'credential.delete': 'takes a way in',
  'deployment.refuse': 'lets nothing go',
  'dnsProvider.delete': 'takes a way in',
  'dnsProvider.verify': 'removes the record that it sets',
  'environment.create': 'guards nothing yet',
  'environment.delete': 'only without an app in it',
  'grant.delete': 'takes rights',
  'invitation.revoke': 'takes a way in',
  'member.delete': 'takes rights',
  'member.revokeToken': 'takes a way in',
  'project.create': 'holds nothing yet',
  'project.delete': 'only without an app or a secret in it',
  'project.update': 'changes a name',
  'role.delete': 'only while no member holds it',
  'secret.attachGroup': 'changes what an app is given, as a deployment does',
  'secret.createGroup': 'no app has it yet',
  'secret.delete': 'changes what an app is given, as a deployment does',
  'secret.deleteGroup': 'changes what an app is given, as a deployment does',
  'secret.detachGroup': 'changes what an app is given, as a deployment does',
  'secret.restore': 'changes what an app is given, as a deployment does',
  'secret.rotateKey': 'gives no access to anyone',
  'secret.update': 'changes what an app is given, as a deployment does',
  'serviceAccount.delete': 'takes rights',
  'serviceAccount.revokeToken': 'takes a way in',
  'token.revoke': 'takes a way in',
  'webhook.delete': 'takes a way in',
};

const procedures = declaredProcedures(apiRouter);
let api: TestApi;
let owner: string;

beforeAll(async () => {
  api = await startTestApi();
  ({ cookie: owner } = await api.signUp('Owner', 'owner'));
  const { organizationId, clock } = api.world;
  // The owner operates the control plane.
  await api.world.system(({ tx }) =>
    tx.setupToken.create({ data: { id: 'stk_used', organizationId, tokenHash: 'used', usedAt: clock.now() } }),
  );
});
afterAll(() => api.close());

/** Calls with an invalid input: a procedure that needs a fresh session checks that before the input. */
async function outcomeOf(path: string): Promise<string> {
  const call = path
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], api.caller(owner)) as (
    input: unknown,
  ) => Promise<unknown>;
  try {
    await call({ nonsense: true });
    return 'ok';
  } catch (error) {
    if (!(error instanceof TRPCError)) throw error;
    return (error.cause as unknown as { readonly published: { readonly errorCode: string } }).published.errorCode;
  }
}

test('the procedures that ask for a fresh session are these', () => {
  expect(procedures.flatMap(({ path, fresh: isFresh }) => (isFresh ? [path] : [])).sort()).toEqual(fresh);
});

test('a procedure with lasting effects requires a fresh session, or says why it need not', () => {
  const undecided = procedures.filter(
    ({ path, type, access, fresh: isFresh }) =>
      type === 'mutation' && lasting.test(access) && isFresh !== true && !Object.hasOwn(notLasting, path),
  );
  expect(undecided.map(({ path }) => path)).toEqual([]);
  const known = new Set(procedures.map(({ path }) => path));
  expect(Object.keys(notLasting).filter((path) => !known.has(path) || fresh.includes(path))).toEqual([]);
});

test.each(fresh)('%s refuses an old session and takes a fresh one', async (path) => {
  expect(await outcomeOf(path)).not.toBe('session.not_fresh');
  api.world.clock.forward(16 * 60_000);
  try {
    expect(await outcomeOf(path)).toBe('session.not_fresh');
  } finally {
    api.world.clock.forward(-16 * 60_000);
  }
});

test('an owner’s old session leaves no second owner, no open environment and no rule behind', async () => {
  const caller = api.caller(owner);
  const { organizationId } = api.world;
  api.world.clock.forward(16 * 60_000);
  try {
    await expect(caller.invitation.create({ role: 'owner' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(caller.organization.update({ requiresTwoFactor: false })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(caller.server.enrol({ name: 'Rogue' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await api.world.system(({ tx }) => tx.invitation.count({ where: { organizationId } }))).toBe(0);
  } finally {
    api.world.clock.forward(-16 * 60_000);
  }
  // The same call with the protection off: a fresh session.
  await caller.invitation.create({ role: 'owner' });
  expect(await api.world.system(({ tx }) => tx.invitation.count({ where: { organizationId } }))).toBe(1);
});
