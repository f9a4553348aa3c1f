// Second factors: once an account has one, only a session that proved it adds, renews or removes another.
import { identityClient } from '@fairlead/db/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthenticator } from './testing/authenticator.ts';
import { type Browser, password, startTestAuth, type TestAuth } from './testing/index.ts';
import { addPasskey, challengeOf, confirmByPasskey, signInByPasskey } from './testing/passkey-calls.ts';
import { totpOf } from './testing/totp.ts';

let world: TestAuth;
beforeAll(async () => {
  world = await startTestAuth({ mail: null });
});
afterAll(() => world.close());

const client = () => identityClient(world.db.database);
const needsFactor = 'session.second_factor_required';

async function signedIn(name: string) {
  const account = await world.newAccount(name);
  const browser = world.browser();
  expect((await browser.signIn(account.email)).status).toBe(200);
  return { ...account, browser };
}

async function withPasskey(name: string) {
  const person = await signedIn(name);
  const device = createAuthenticator();
  const response = await addPasskey(person.browser, device);
  const { recoveryCodes } = (await response.json()) as { recoveryCodes: string[] };
  return { ...person, device, recoveryCodes };
}

async function byPassword(email: string): Promise<Browser> {
  const browser = world.browser();
  expect((await browser.signIn(email)).status).toBe(200);
  return browser;
}

/** A code of the error table, or `ok`. */
async function outcomeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    (answer) => (answer instanceof Response && !answer.ok ? codeOf(answer) : 'ok'),
    (error: { code?: string }) => error.code ?? 'no code',
  );
}

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { code: string }).code;
}

/** All calls that change the factors of an account, or its other ways to sign in. */
async function tryAll(browser: Browser, passkeyId: string): Promise<Record<string, string>> {
  const { account } = world.auth;
  const caller = await browser.caller();
  return {
    begin: await outcomeOf(account.beginTwoFactor(caller)),
    confirm: await outcomeOf(account.confirmTwoFactor(caller, { code: '123456' })),
    rotate: await outcomeOf(account.rotateRecoveryCodes(caller)),
    disable: await outcomeOf(account.disableTwoFactor(caller)),
    removePasskey: await outcomeOf(account.removePasskey(caller, { passkeyId })),
    optionsOfPasskey: await outcomeOf(browser.send('GET', '/passkey/generate-register-options')),
    addPasskey: await outcomeOf(browser.send('POST', '/passkey/verify-registration', { name: 'x', response: {} })),
    email: await outcomeOf(account.requestEmailChange(caller, { email: 'thief@example.test' })),
    password: await outcomeOf(
      account.updatePassword(caller, { current: 'a wrong guess', next: 'a new long password' }),
    ),
  };
}

test('a password alone changes no factor of an account that has a passkey', async () => {
  const owner = await withPasskey('Owner');
  const [passkey] = (await world.auth.account.get(await owner.browser.caller())).passkeys;
  const thief = await byPassword(owner.email);
  const refused = await tryAll(thief, passkey?.id ?? '');
  expect(new Set(Object.values(refused)), JSON.stringify(refused)).toEqual(new Set([needsFactor]));
  expect((await thief.session()).user.hasSecondFactor).toBe(false);
  expect((await world.auth.account.get(await owner.browser.caller())).passkeys).toHaveLength(1);

  // The same calls with the same password reach an account without a factor: only the factor stops them.
  const twin = await signedIn('Twin');
  const open = await tryAll(await byPassword(twin.email), passkey?.id ?? '');
  expect(Object.values(open)).not.toContain(needsFactor);
  expect(open).toMatchObject({ begin: 'ok', optionsOfPasskey: 'ok' });
});

test('a passkey or a recovery code proves the open session, which then changes factors', async () => {
  const { email, device, recoveryCodes } = await withPasskey('Prover');
  expect(new Set(recoveryCodes).size).toBe(10);
  const { account } = world.auth;
  const first = await byPassword(email);
  expect((await confirmByPasskey(first, device)).status).toBe(200);
  expect(await outcomeOf(account.beginTwoFactor(await first.caller()))).toBe('ok');

  const second = await byPassword(email);
  const confirm = async (code: string) => outcomeOf(account.confirmSecondFactor(await second.caller(), { code }));
  expect(await confirm('aaaaa-aaaaa')).toBe('session.code_wrong');
  expect(await confirm(recoveryCodes[0] ?? '')).toBe('ok');
  expect((await second.session()).user.hasSecondFactor).toBe(true);
  expect((await account.get(await second.caller())).recoveryCodesLeft).toBe(9);
  expect(await outcomeOf(account.beginTwoFactor(await second.caller()))).toBe('ok');

  const third = await byPassword(email);
  const again = account.confirmSecondFactor(await third.caller(), { code: recoveryCodes[0] ?? '' });
  expect(await outcomeOf(again)).toBe('session.code_wrong');
  // The app from the unfinished setup above proves nothing before its first code.
  expect((await third.session()).user.hasSecondFactor).toBe(false);
});

test('two concurrent uses of one recovery code prove one session', async () => {
  const { email, recoveryCodes } = await withPasskey('Racer');
  const browsers = [await byPassword(email), await byPassword(email)];
  const code = recoveryCodes[3] ?? '';
  const outcomes = await Promise.all(
    browsers.map(async (browser) =>
      outcomeOf(world.auth.account.confirmSecondFactor(await browser.caller(), { code })),
    ),
  );
  expect(outcomes.sort()).toEqual(['ok', 'session.code_wrong']);
});

test('a session by password from before an authenticator app ends with it, and never counts as two-factor', async () => {
  const { email, userId, browser } = await signedIn('Early');
  const thief = await byPassword(email);
  const { account } = world.auth;
  const { secret } = await account.beginTwoFactor(await browser.caller());
  // In an account with an app, a session that proved nothing has no second factor, however it survived.
  await client().user.update({ where: { id: userId }, data: { twoFactorEnabled: true } });
  expect((await thief.session()).user).toMatchObject({ hasAuthenticatorApp: true, hasSecondFactor: false });
  await client().user.update({ where: { id: userId }, data: { twoFactorEnabled: false } });

  await account.confirmTwoFactor(await browser.caller(), { code: totpOf(secret) });
  expect((await browser.session()).user.hasSecondFactor).toBe(true);
  await expect(thief.session()).rejects.toThrow(/not signed in/);

  const later = world.browser();
  await later.signIn(email);
  expect((await later.send('POST', '/two-factor/verify-totp', { code: totpOf(secret, 30_000) })).status).toBe(200);
  expect((await later.session()).user.hasSecondFactor).toBe(true);
});

test('an unproven session ends with the first passkey; one that proved a factor stays', async () => {
  const { email, browser } = await signedIn('First');
  const thief = await byPassword(email);
  const device = createAuthenticator();
  expect((await addPasskey(browser, device)).status).toBe(200);
  await expect(thief.session()).rejects.toThrow(/not signed in/);
  const other = world.browser();
  expect((await signInByPasskey(other, device)).status).toBe(200);
  expect((await addPasskey(browser, createAuthenticator())).status).toBe(200);
  expect((await other.session()).user.hasSecondFactor).toBe(true);
});

test('removing a factor requires the other sessions to prove one again; removing the last deletes the recovery codes', async () => {
  const { browser, device, email, userId } = await withPasskey('Remover');
  const { account } = world.auth;
  const other = world.browser();
  await signInByPasskey(other, device);
  const { secret } = await account.beginTwoFactor(await browser.caller());
  // The codes of the first factor stay unchanged.
  expect(await account.confirmTwoFactor(await browser.caller(), { code: totpOf(secret) })).toEqual([]);
  await account.disableTwoFactor(await browser.caller());
  expect((await other.session()).user.hasSecondFactor).toBe(false);
  expect((await account.get(await browser.caller())).recoveryCodesLeft).toBe(10);
  expect(await (await world.browser().signIn(email)).json()).toEqual({ needsCode: false });

  const [passkey] = (await account.get(await browser.caller())).passkeys;
  await account.removePasskey(await browser.caller(), { passkeyId: passkey?.id ?? '' });
  expect((await browser.session()).user.hasSecondFactor).toBe(false);
  expect(await client().twoFactor.count({ where: { userId } })).toBe(0);
  expect(await outcomeOf(account.rotateRecoveryCodes(await browser.caller()))).toBe('account.two_factor_off');
});

test('a sign-in that waits for its code ends with the password that it began with', async () => {
  const { email, browser } = await signedIn('Waiting');
  const { account } = world.auth;
  const { secret } = await account.beginTwoFactor(await browser.caller());
  const recoveryCodes = await account.confirmTwoFactor(await browser.caller(), { code: totpOf(secret) });
  const steps = [world.browser(), world.browser()];
  for (const step of steps) expect(await (await step.signIn(email)).json()).toEqual({ needsCode: true });
  const goOn = (step: Browser | undefined, code = '') =>
    outcomeOf(step?.send('POST', '/two-factor/verify-backup-code', { code }) ?? Promise.reject(new Error('no step')));
  expect(await goOn(steps[0], recoveryCodes[0])).toBe('ok');
  await account.updatePassword(await browser.caller(), { current: password, next: 'another long password' });
  expect(await goOn(steps[1], recoveryCodes[1])).toBe('session.step_expired');
});

test('a code of the app proves the open session once, and guesses are counted', async () => {
  const { browser } = await signedIn('Guesser');
  const { account } = world.auth;
  const { secret } = await account.beginTwoFactor(await browser.caller());
  await account.confirmTwoFactor(await browser.caller(), { code: totpOf(secret) });
  const { id } = await browser.session();
  await client().session.updateMany({ where: { id }, data: { secondFactorAt: null } });
  const confirm = async (code: string) => outcomeOf(account.confirmSecondFactor(await browser.caller(), { code }));
  expect(await confirm(totpOf(secret))).toBe('session.code_wrong');
  expect(await confirm(totpOf(secret, 30_000))).toBe('ok');
  expect((await browser.session()).user.hasSecondFactor).toBe(true);
  const guesses: string[] = [];
  for (let at = 0; at < 12; at += 1) guesses.push(await confirm(`1000${10 + at}`));
  expect(guesses.filter((outcome) => outcome === 'session.code_wrong')).toHaveLength(10);
  expect(guesses.at(-1)).toBe('request.too_many');
});

test('the operator of the server recovers the account of a person who lost every factor', async () => {
  const { userId, email, device } = await withPasskey('Lost');
  const { path } = await world.auth.account.recover({ userId, removeSecondFactors: true });
  const [, token = ''] = path.split('=');
  await world.auth.account.resetPassword(new Headers(), { token, password: 'quite another password' });
  const browser = world.browser();
  await browser.signIn(email, 'quite another password');
  expect(await outcomeOf(world.auth.account.beginTwoFactor(await browser.caller()))).toBe('ok');
  const response = device.get(await challengeOf(world.browser(), 'authenticate'));
  expect((await world.browser().send('POST', '/passkey/verify-authentication', { response })).status).toBe(401);
});
