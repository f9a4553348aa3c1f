import { identityClient } from '@fairlead/db/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeLink } from './account-link.ts';
import { type Authenticator, createAuthenticator } from './testing/authenticator.ts';
import { type Browser, startTestAuth, type TestAuth } from './testing/index.ts';
import { addPasskey, challengeOf, confirmByPasskey, signInByPasskey } from './testing/passkey-calls.ts';
import { totpOf } from './testing/totp.ts';

let world: TestAuth;
beforeAll(async () => {
  world = await startTestAuth({ mail: null });
});
afterAll(() => world.close());

const client = () => identityClient(world.db.database);

async function personWithPasskey(name: string) {
  const account = await world.newAccount(name);
  const browser = world.browser();
  await browser.signIn(account.email);
  const device = createAuthenticator();
  expect((await addPasskey(browser, device)).status).toBe(200);
  return { ...account, browser, device };
}

test('a passkey signs in without a password and without a second step', async () => {
  const { browser, device, userId } = await personWithPasskey('Pass');
  const other = world.browser();
  expect(await challengeOf(other, 'authenticate')).toMatchObject({ userVerification: 'required' });
  const response = await signInByPasskey(other, device);
  expect([response.status, await response.json()]).toEqual([200, { needsCode: false }]);
  expect((await other.session()).user.id).toBe(userId);
  const { passkeys } = await world.auth.account.get(await browser.caller());
  expect(passkeys).toMatchObject([{ name: 'Laptop', isSynced: false, lastUsedAt: expect.any(Date) }]);
});

test('a passkey is open while strangers have closed the password', async () => {
  const { device, email } = await personWithPasskey('Besieged');
  for (let time = 0; time < 12; time += 1) await world.browser().signIn(email, 'guess');
  const browser = world.browser();
  expect((await browser.signIn(email)).status).toBe(429);
  expect((await signInByPasskey(browser, device)).status).toBe(200);
});

test('a passkey without user verification, of another site, replayed or with an unknown key is refused', async () => {
  const { browser, device } = await personWithPasskey('Liar');
  expect((await addPasskey(browser, createAuthenticator(), { isVerified: false })).status).toBe(401);
  expect((await addPasskey(browser, createAuthenticator(), { origin: 'https://evil.example.test' })).status).toBe(401);
  for (const change of [{ isVerified: false }, { origin: 'https://evil.example.test' }]) {
    const other = world.browser();
    expect((await signInByPasskey(other, device, change)).status).toBe(401);
    await expect(other.session()).rejects.toThrow(/not signed in/);
  }
  const other = world.browser();
  const response = device.get(await challengeOf(other, 'authenticate'));
  expect((await other.send('POST', '/passkey/verify-authentication', { response })).status).toBe(200);
  const thief = world.browser();
  for (const [name, value] of other.cookies) if (name.endsWith('.passkey')) thief.cookies.set(name, value);
  expect((await thief.send('POST', '/passkey/verify-authentication', { response })).status).toBe(401);
  expect((await signInByPasskey(world.browser(), createAuthenticator())).status).toBe(401);
});

test('adding and removing want a fresh session; another’s passkeys are not there', async () => {
  const { browser, device } = await personWithPasskey('Owner');
  const [passkey] = (await world.auth.account.get(await browser.caller())).passkeys;
  const ref = { passkeyId: passkey?.id ?? '' };
  const eve = await personWithPasskey('Eve');
  const asEve = await eve.browser.caller();
  await expect(world.auth.account.removePasskey(asEve, ref)).rejects.toMatchObject({
    code: 'account.passkey_not_found',
  });
  await expect(world.auth.account.renamePasskey(asEve, { ...ref, name: 'Mine' })).rejects.toMatchObject({
    code: 'account.passkey_not_found',
  });

  const { id } = await browser.session();
  const old = new Date(Date.now() - 60 * 60_000);
  await client().session.updateMany({ where: { id }, data: { createdAt: old } });
  expect((await browser.send('GET', '/passkey/generate-register-options')).status).toBe(403);
  await expect(world.auth.account.removePasskey(await browser.caller(), ref)).rejects.toMatchObject({
    code: 'session.not_fresh',
  });
  await signInByPasskey(browser, device);
  await world.auth.account.removePasskey(await browser.caller(), ref);
  expect((await world.auth.account.get(await browser.caller())).passkeys).toEqual([]);
});

test('a passkey makes the open session fresh; another person’s does not, and leaves no session behind', async () => {
  const { browser, device, userId } = await personWithPasskey('Stale');
  const eve = await personWithPasskey('Mallory');
  const { id } = await browser.session();
  const old = new Date(Date.now() - 60 * 60_000);
  await client().session.updateMany({ where: { id }, data: { createdAt: old } });
  const confirm = async (with_: Authenticator) => (await confirmByPasskey(browser, with_)).status;
  const before = await client().session.count();
  expect(await confirm(eve.device)).toBe(401);
  expect((await browser.session()).freshUntil.getTime()).toBeLessThan(Date.now());
  expect(await confirm(device)).toBe(200);
  const after = await browser.session();
  expect([after.id, after.user.id]).toEqual([id, userId]);
  expect(after.freshUntil.getTime()).toBeGreaterThan(Date.now());
  expect(await client().session.count()).toBe(before);
  expect((await world.browser().send('POST', '/confirm/passkey', { response: {} })).status).toBe(401);
});

test('a page of another origin adds no passkey with the cookie', async () => {
  const { browser } = await personWithPasskey('Framed');
  const response = createAuthenticator().create(await challengeOf(browser, 'register'));
  const sent = { name: 'Evil', response };
  const answer = await browser.send('POST', '/passkey/verify-registration', sent, {
    origin: 'https://evil.example.test',
  });
  expect(answer.status).toBe(403);
});

test('a session by passkey has a second factor, one by password has none', async () => {
  const { browser, device, email } = await personWithPasskey('Factor');
  const factors = async (of: Browser) => (await of.session()).user;
  expect(await factors(browser)).toMatchObject({ hasSecondFactor: true, hasAuthenticatorApp: false });
  const byPassword = world.browser();
  await byPassword.signIn(email);
  expect(await factors(byPassword)).toMatchObject({ hasSecondFactor: false });
  const byPasskey = world.browser();
  await signInByPasskey(byPasskey, device);
  expect(await factors(byPasskey)).toMatchObject({ hasSecondFactor: true });
  // The open session may be proven afterwards.
  const response = device.get(await challengeOf(byPassword, 'authenticate'));
  expect((await byPassword.send('POST', '/confirm/passkey', { response })).status).toBe(200);
  expect(await factors(byPassword)).toMatchObject({ hasSecondFactor: true });
  // With the last passkey the proof goes, everywhere.
  const caller = await browser.caller();
  const [passkey] = (await world.auth.account.get(caller)).passkeys;
  await world.auth.account.removePasskey(caller, { passkeyId: passkey?.id ?? '' });
  for (const each of [browser, byPassword, byPasskey]) expect((await factors(each)).hasSecondFactor).toBe(false);
});

test('a link by mail to an unconfirmed address ends every way to sign in that was added before', async () => {
  const { device, email, userId, browser } = await personWithPasskey('Squatter');
  const { account } = world.auth;
  const setup = await account.beginTwoFactor(await browser.caller());
  await account.confirmTwoFactor(await browser.caller(), { code: totpOf(setup.secret) });
  const reset = async () => {
    const token = await makeLink(client(), 'reset_password', { userId, email });
    await account.resetPassword(new Headers(), { token, password: 'quite another password' });
  };
  await reset();
  expect((await signInByPasskey(world.browser(), device)).status).toBe(401);
  const owner = world.browser();
  expect(await (await owner.signIn(email, 'quite another password')).json()).toEqual({ needsCode: false });
  // From now on the address is proven: what the owner adds stays through the next reset.
  const own = createAuthenticator();
  expect((await addPasskey(owner, own)).status).toBe(200);
  await reset();
  expect((await signInByPasskey(world.browser(), own)).status).toBe(200);
});
