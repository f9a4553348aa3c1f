// Concurrent sign-in: if its proof is withdrawn meanwhile, it opens no session.
import { identityClient } from '@fairlead/db/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthenticator } from './testing/authenticator.ts';
import { password, startTestAuth, type TestAuth } from './testing/index.ts';
import { addPasskey, challengeOf, signInByPasskey } from './testing/passkey-calls.ts';

let world: TestAuth;
beforeAll(async () => {
  world = await startTestAuth({ mail: null });
});
afterAll(() => world.close());

const client = () => identityClient(world.db.database);

async function signedIn(name: string) {
  const account = await world.newAccount(name);
  const browser = world.browser();
  expect((await browser.signIn(account.email)).status).toBe(200);
  return { ...account, browser };
}

async function waiters(count: number): Promise<void> {
  const read = async () => {
    const rows = await client().$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return rows[0]?.count;
  };
  await expect.poll(read, { timeout: 10_000 }).toBe(count);
}

/** Holds `begun` where it inserts a row of the person, until `withdraw` has come to its own insert of one. */
async function overtake<T>(userId: string, begun: () => Promise<T>, withdraw: () => Promise<unknown>): Promise<T> {
  const { promise: withdrawn, resolve } = Promise.withResolvers<Promise<unknown>>();
  const started = await client().$transaction(
    async (tx) => {
      // Rows that refer to the person wait for this lock.
      await tx.$queryRaw`SELECT 1 FROM "user" WHERE id = ${userId} FOR UPDATE`;
      const answer = begun();
      await waiters(1);
      resolve(withdraw());
      await waiters(2);
      return { answer };
    },
    { timeout: 20_000 },
  );
  const result = await started.answer;
  await withdrawn;
  return result;
}

test('a concurrent sign-in with the old password opens no session after a change', async () => {
  const { browser, email, userId } = await signedIn('Password');
  const thief = world.browser();
  const caller = await browser.caller();
  const change = () => world.auth.account.updatePassword(caller, { current: password, next: 'another long password' });
  const response = await overtake(userId, () => thief.signIn(email), change);
  expect(response.status).toBe(401);
  await expect(thief.session()).rejects.toThrow(/not signed in/);
  expect(await client().session.count({ where: { userId } })).toBe(1);
  await browser.session();
});

test('a passkey that is removed while it signs in opens no session', async () => {
  const { browser, userId } = await signedIn('Passkey');
  const device = createAuthenticator();
  await addPasskey(browser, device);
  const thief = world.browser();
  const caller = await browser.caller();
  const passkeyId = (await world.auth.account.get(caller)).passkeys[0]?.id ?? '';
  const remove = () => world.auth.account.removePasskey(caller, { passkeyId });
  const response = await overtake(userId, () => signInByPasskey(thief, device), remove);
  expect(response.status).toBe(401);
  await expect(thief.session()).rejects.toThrow(/not signed in/);
});

test('a passkey that is added while its session ends does not stay', async () => {
  const { browser: thief, userId, email } = await signedIn('Added');
  const device = createAuthenticator();
  const made = device.create(await challengeOf(thief, 'register'));
  const add = () => thief.send('POST', '/passkey/verify-registration', { name: 'Thief', response: made });
  const recover = () => world.auth.account.recover({ userId, removeSecondFactors: true });
  const response = await overtake(userId, add, recover);
  expect(response.status).toBe(401);
  expect(await client().passkey.count({ where: { userId } })).toBe(0);
  expect((await world.browser().signIn(email)).status).toBe(200);
});
