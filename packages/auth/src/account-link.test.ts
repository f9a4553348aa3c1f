// Links that a stranger requested end with the stranger's access.
import { identityClient } from '@fairlead/db/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthenticator } from './testing/authenticator.ts';
import { type Browser, startTestAuth, type TestAuth, tokenIn } from './testing/index.ts';
import { addPasskey, signInByPasskey } from './testing/passkey-calls.ts';
import { totpOf } from './testing/totp.ts';

let world: TestAuth;
beforeAll(async () => {
  world = await startTestAuth();
});
afterAll(() => world.close());

const client = () => identityClient(world.db.database);

interface Theft {
  readonly owner: Browser;
  readonly thief: Browser;
  readonly userId: string;
}

/** The outcome of the thief's change of address, begun before `act` and opened after it. */
async function changeAfter(
  name: string,
  act: (theft: Theft) => Promise<unknown>,
  before: (theft: Theft) => Promise<unknown> = async () => undefined,
): Promise<string> {
  const { account } = world.auth;
  const { email, userId } = await world.newAccount(name);
  const [owner, thief] = [world.browser(), world.browser()];
  for (const browser of [owner, thief]) expect((await browser.signIn(email)).status).toBe(200);
  await before({ owner, thief, userId });
  const wanted = `${name.toLowerCase()}@thief.example.test`;
  await account.requestEmailChange(await thief.caller(), { email: wanted });
  const token = tokenIn(await world.inbox.next(wanted), 'verify-email');
  await act({ owner, thief, userId });
  const outcome = await account.verifyEmail(new Headers(), { token }).then(
    () => 'changed',
    (error: { code?: string }) => error.code ?? 'no code',
  );
  const { email: now } = await client().user.findUniqueOrThrow({ where: { id: userId } });
  expect(now).toBe(outcome === 'changed' ? wanted : email);
  return outcome;
}

async function turnOnApp(browser: Browser): Promise<void> {
  const { account } = world.auth;
  const { secret } = await account.beginTwoFactor(await browser.caller());
  await account.confirmTwoFactor(await browser.caller(), { code: totpOf(secret) });
}

test('a change of address that a stranger began ends with the first factor', async () => {
  // Nothing between the two: the link works.
  expect(await changeAfter('Control', async () => undefined)).toBe('changed');
  const passkey = changeAfter('Passkey', async ({ owner }) => {
    expect((await addPasskey(owner, createAuthenticator())).status).toBe(200);
  });
  expect(await passkey).toBe('account.link_invalid');
  expect(await changeAfter('App', ({ owner }) => turnOnApp(owner))).toBe('account.link_invalid');
});

test('a change of address that a stranger began ends with the factor that proved them', async () => {
  const device = createAuthenticator();
  let passkeyId = '';
  const bothProven = async ({ owner, thief }: Theft) => {
    await addPasskey(owner, device);
    await signInByPasskey(thief, device);
    passkeyId = (await world.auth.account.get(await owner.caller())).passkeys[0]?.id ?? '';
  };
  const remove = async ({ owner }: Theft) => world.auth.account.removePasskey(await owner.caller(), { passkeyId });
  expect(await changeAfter('Removed', remove, bothProven)).toBe('account.link_invalid');

  const otherDevice = createAuthenticator();
  const withApp = async ({ owner, thief }: Theft) => {
    await addPasskey(owner, otherDevice);
    await turnOnApp(owner);
    await signInByPasskey(thief, otherDevice);
  };
  const disable = async ({ owner }: Theft) => world.auth.account.disableTwoFactor(await owner.caller());
  expect(await changeAfter('Disabled', disable, withApp)).toBe('account.link_invalid');
});

test('a change of address that a stranger began ends with their session', async () => {
  const { account } = world.auth;
  const one = changeAfter('One', async ({ owner, thief }) =>
    account.revokeSession(await owner.caller(), { sessionId: (await thief.session()).id }),
  );
  expect(await one).toBe('account.link_invalid');
  const others = changeAfter('Others', async ({ owner }) => account.revokeOtherSessions(await owner.caller()));
  expect(await others).toBe('account.link_invalid');
  const password = changeAfter('Password', async ({ owner }) =>
    account.updatePassword(await owner.caller(), { current: 'correct horse battery', next: 'another long password' }),
  );
  expect(await password).toBe('account.link_invalid');
});
