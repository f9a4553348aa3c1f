import { hashPassword as hashByScrypt } from 'better-auth/crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuth } from './create-auth.ts';
import { requireFresh } from './fresh.ts';
import { password, startTestAuth, type TestAuth, tokenIn } from './testing/index.ts';
import { totpOf } from './testing/totp.ts';

let world: TestAuth;

beforeAll(async () => {
  world = await startTestAuth();
});
afterAll(async () => {
  await world.close();
  expect(world.failures).toEqual([]);
});

const system = <T>(run: Parameters<typeof world.db.database.system<T>>[1]) => world.db.database.system('a test', run);
const { identityClient } = await import('@fairlead/db/identity');
const client = () => identityClient(world.db.database);
const next = 'another long password';

async function signedIn(name: string) {
  const account = await world.newAccount(name);
  const browser = world.browser();
  expect((await browser.signIn(account.email)).status).toBe(200);
  return { ...account, browser };
}

async function eventsOf(userId: string): Promise<string[]> {
  const rows = await client().accountEvent.findMany({ where: { userId }, orderBy: [{ at: 'asc' }] });
  return rows.map(({ kind }) => kind);
}

test('passwords are hashed by argon2id; one hashed by scrypt still works and is hashed again', async () => {
  const { email, userId } = await world.newAccount('Hash');
  const kept = async () => (await client().account.findFirstOrThrow({ where: { userId } })).password ?? '';
  expect(await kept()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  await client().account.updateMany({ where: { userId }, data: { password: await hashByScrypt(password) } });
  expect((await world.browser().signIn(email, 'not the password')).status).toBe(401);
  expect(await kept()).not.toMatch(/argon2/);
  expect((await world.browser().signIn(email)).status).toBe(200);
  expect(await kept()).toMatch(/^\$argon2id\$/);
  expect((await world.browser().signIn(email)).status).toBe(200);
});

test('a session is fresh for a quarter of an hour, and again once its person confirms their identity', async () => {
  const { browser } = await signedIn('Fresh');
  const session = await browser.session();
  expect(() => requireFresh(session, new Date())).not.toThrow();
  await client().session.updateMany({
    where: { id: session.id },
    data: { createdAt: new Date(Date.now() - 16 * 60_000) },
  });
  const caller = await browser.caller();
  expect(() => requireFresh(caller.session, new Date())).toThrow(/Confirm/);
  await expect(world.auth.account.beginTwoFactor(caller)).rejects.toMatchObject({ code: 'session.not_fresh' });
  expect((await browser.send('GET', '/passkey/generate-register-options')).status).toBe(403);
  await expect(world.auth.account.confirm(caller, { password: 'wrong' })).rejects.toMatchObject({
    code: 'account.password_wrong',
  });
  await world.auth.account.confirm(caller, { password });
  requireFresh(await browser.session(), new Date());
});

test('confirming a password allows no unlimited guesses', async () => {
  const { browser } = await signedIn('Guess');
  const caller = await browser.caller();
  const tries = Array.from({ length: 30 }, () => world.auth.account.confirm(caller, { password: 'wrong' }));
  const codes = (await Promise.allSettled(tries)).map((each) => each.status === 'rejected' && each.reason.code);
  expect(codes.filter((code) => code === 'account.password_wrong')).toHaveLength(10);
  expect(codes.filter((code) => code === 'request.too_many')).toHaveLength(20);
});

test('sessions are listed, ended one by one and all others together; a stranger’s cannot be ended', async () => {
  const { browser, email } = await signedIn('Many');
  const others = [world.browser(), world.browser(), world.browser()];
  for (const other of others) await other.signIn(email);
  const caller = await browser.caller();
  const list = await world.auth.account.listSessions(caller);
  expect(list).toHaveLength(4);
  expect(list.filter(({ isThis }) => isThis).map(({ id }) => id)).toEqual([caller.session.id]);
  expect(list[0]).toMatchObject({ device: 'Firefox on Linux' });

  const first = await (others[0] ?? browser).session();
  const { browser: eve } = await signedIn('Eve');
  await expect(world.auth.account.revokeSession(await eve.caller(), { sessionId: first.id })).rejects.toMatchObject({
    code: 'session.not_found',
  });
  await world.auth.account.revokeSession(caller, { sessionId: first.id });
  await expect(others[0]?.session()).rejects.toThrow(/not signed in/);
  expect(await world.auth.account.revokeOtherSessions(caller)).toBe(2);
  await expect(others[1]?.session()).rejects.toThrow(/not signed in/);
  expect((await browser.session()).id).toBe(caller.session.id);
  await eve.session();
});

test('a new password ends every other session and notifies the person', async () => {
  const { browser, email, userId } = await signedIn('Change');
  const other = world.browser();
  await other.signIn(email);
  expect(await world.inbox.next(email)).toContain('Firefox on Linux');
  const caller = await browser.caller();
  await expect(world.auth.account.updatePassword(caller, { current: 'wrong', next })).rejects.toMatchObject({
    code: 'account.password_wrong',
  });
  await world.auth.account.updatePassword(caller, { current: password, next });
  await browser.session();
  await expect(other.session()).rejects.toThrow(/not signed in/);
  expect((await world.browser().signIn(email)).status).toBe(401);
  expect((await browser.signIn(email, next)).status).toBe(200);
  expect(await world.inbox.next(email)).toContain('Your password was changed');
  expect(await eventsOf(userId)).toContain('password_changed');
});

test('a sign-in from an unknown device sends a mail; one from a known device does not', async () => {
  const { browser, email } = await signedIn('Device');
  expect(world.inbox.to(email)).toEqual([]);
  await browser.signIn(email);
  const stranger = world.browser();
  await stranger.signIn(email);
  expect(await world.inbox.next(email)).toContain('Subject: New sign-in to your account');
  await stranger.signIn(email);
  await world.auth.account.sendVerification(await browser.caller());
  expect(await world.inbox.next(email)).toContain('Subject: Confirm your email address');
  expect(world.inbox.to(email)).toHaveLength(2);
});

test('a password reset link works once, for half an hour, and ends all sessions', async () => {
  const { browser, email, userId } = await signedIn('Forgot');
  await world.auth.account.requestReset(new Headers(), { email: email.toUpperCase() });
  const token = tokenIn(await world.inbox.next(email), 'reset-password');
  expect(await client().accountLink.count({ where: { tokenHash: token } })).toBe(0);
  const reset = (value: string) => world.auth.account.resetPassword(new Headers(), { token: value, password: next });
  await expect(reset('x'.repeat(43))).rejects.toMatchObject({ code: 'account.link_invalid' });
  const both = await Promise.allSettled([reset(token), reset(token)]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await expect(browser.session()).rejects.toThrow(/not signed in/);
  expect((await world.browser().signIn(email)).status).toBe(401);
  expect((await browser.signIn(email, next)).status).toBe(200);
  expect(await eventsOf(userId)).toContain('password_reset');
  expect(await world.auth.account.get(await browser.caller())).toMatchObject({ isEmailVerified: true });

  await world.inbox.next(email);
  await world.auth.account.requestReset(new Headers(), { email });
  const late = tokenIn(await world.inbox.next(email), 'reset-password');
  await client().accountLink.updateMany({ where: { userId }, data: { expiresAt: new Date(Date.now() - 1) } });
  await expect(reset(late)).rejects.toMatchObject({ code: 'account.link_invalid' });
  // Nor does a link of one kind open what another one does.
  await world.auth.account.sendVerification(await browser.caller());
  const verify = tokenIn(await world.inbox.next(email), 'verify-email');
  await expect(reset(verify)).rejects.toMatchObject({ code: 'account.link_invalid' });
});

test('a password reset request does not reveal accounts, and floods no mailbox', async () => {
  const { email } = await world.newAccount('Quiet');
  expect(await world.auth.account.requestReset(new Headers(), { email: 'nobody@example.test' })).toBe(undefined);
  for (let time = 0; time < 6; time += 1) {
    expect(await world.auth.account.requestReset(new Headers(), { email })).toBe(undefined);
  }
  for (let time = 0; time < 3; time += 1) await world.inbox.next(email);
  await expect.poll(() => client().signInAttempt.count({ where: { count: 4 } })).toBeGreaterThan(0);
  expect(world.inbox.to(email)).toHaveLength(3);
  expect(world.inbox.to('nobody@example.test')).toEqual([]);

  const silent = createAuth({ ...world.options, mail: null });
  for (const address of [email, 'nobody@example.test']) {
    await expect(silent.account.requestReset(new Headers(), { email: address })).rejects.toMatchObject({
      code: 'account.mail_not_set_up',
    });
  }
});

test('an address changes once its mail is confirmed, and the old address is notified', async () => {
  const { browser, email, userId } = await signedIn('Mover');
  const caller = await browser.caller();
  const wanted = 'moved@example.test';
  await world.auth.account.requestEmailChange(caller, { email: 'Moved@Example.test' });
  expect((await browser.session()).user.email).toBe(email);
  const token = tokenIn(await world.inbox.next(wanted), 'verify-email');
  expect(await world.auth.account.verifyEmail(new Headers(), { token })).toEqual({ email: wanted });
  expect(await world.inbox.next(email)).toContain('Your email address was changed');
  expect((await world.browser().signIn(wanted)).status).toBe(200);
  await expect(world.auth.account.verifyEmail(new Headers(), { token })).rejects.toMatchObject({
    code: 'account.link_invalid',
  });
  expect(await eventsOf(userId)).toContain('email_changed');

  // Somebody else's address gets the same answer and no mail.
  const { email: taken } = await world.newAccount('Taken');
  await world.auth.account.requestEmailChange(await browser.caller(), { email: taken });
  expect(world.inbox.to(taken)).toEqual([]);
});

test('a code of the authenticator app is required once it was confirmed; recovery codes work once', async () => {
  const { browser, email, userId } = await signedIn('Codes');
  const { account } = world.auth;
  const setup = await account.beginTwoFactor(await browser.caller());
  expect(setup.uri).toMatch(/^otpauth:\/\/totp\/Fairlead/);
  // Not confirmed: nothing changes yet.
  expect(await (await world.browser().signIn(email)).json()).toEqual({ needsCode: false });
  await expect(account.confirmTwoFactor(await browser.caller(), { code: '000000' })).rejects.toMatchObject({
    code: 'session.code_wrong',
  });
  const codes = await account.confirmTwoFactor(await browser.caller(), { code: totpOf(setup.secret) });
  expect(new Set(codes).size).toBe(10);
  expect((await browser.session()).user.hasSecondFactor).toBe(true);
  const row = await client().twoFactor.findUniqueOrThrow({ where: { userId } });
  expect(JSON.stringify(row)).not.toContain(codes[0]);
  expect(JSON.stringify(row)).not.toContain(setup.secret);

  const other = world.browser();
  expect(await (await other.signIn(email)).json()).toEqual({ needsCode: true });
  await expect(other.session()).rejects.toThrow(/not signed in/);
  const totp = (code: string) => other.send('POST', '/two-factor/verify-totp', { code });
  // The code that confirmed it was seen: it opens nothing any more. The next half minute's does, once.
  expect((await totp(totpOf(setup.secret))).status).toBe(401);
  expect((await totp('000000')).status).toBe(401);
  const fresh = totpOf(setup.secret, 30_000);
  expect((await totp(fresh)).status).toBe(200);
  expect((await other.session()).user.id).toBe(userId);

  const third = world.browser();
  await third.signIn(email);
  expect((await third.send('POST', '/two-factor/verify-totp', { code: fresh })).status).toBe(401);
  const recovery = (code: string) => third.send('POST', '/two-factor/verify-backup-code', { code });
  expect((await recovery('aaaaa-aaaaa')).status).toBe(401);
  expect((await recovery(codes[0] ?? '')).status).toBe(200);
  expect((await account.get(await third.caller())).recoveryCodesLeft).toBe(9);
  await third.signIn(email);
  expect((await recovery(codes[0] ?? '')).status).toBe(401);

  const renewed = await account.rotateRecoveryCodes(await browser.caller());
  expect((await recovery(codes[1] ?? '')).status).toBe(401);
  expect((await recovery(renewed[0] ?? '')).status).toBe(200);
  await account.disableTwoFactor(await browser.caller());
  expect(await (await world.browser().signIn(email)).json()).toEqual({ needsCode: false });
  expect(await eventsOf(userId)).toEqual(
    expect.arrayContaining(['two_factor_on', 'recovery_code_used', 'recovery_codes_made', 'two_factor_off']),
  );
});

test('the second step requires the first', async () => {
  const response = await world.browser().send('POST', '/two-factor/verify-totp', { code: '123456' });
  expect([response.status, await response.json()]).toEqual([
    401,
    expect.objectContaining({ code: 'session.step_expired' }),
  ]);
});

test('codes cannot be guessed by starting over', async () => {
  const { browser, email } = await signedIn('Brute');
  const { secret } = await world.auth.account.beginTwoFactor(await browser.caller());
  await world.auth.account.confirmTwoFactor(await browser.caller(), { code: totpOf(secret) });
  const statuses: number[] = [];
  for (let time = 0; time < 15; time += 1) {
    const thief = world.browser();
    await thief.signIn(email);
    statuses.push((await thief.send('POST', '/two-factor/verify-totp', { code: `1000${10 + time}` })).status);
  }
  expect(statuses.filter((status) => status === 401)).toHaveLength(10);
  expect(statuses.at(-1)).toBe(429);
  // The thief knows the password, and the owner's own device is still admitted.
  await browser.signIn(email);
  expect((await browser.send('POST', '/two-factor/verify-totp', { code: totpOf(secret, 30_000) })).status).toBe(200);
});

test('the operator of the server can recover a locked-out person’s account', async () => {
  const { browser, email, userId } = await signedIn('Locked');
  const { secret } = await world.auth.account.beginTwoFactor(await browser.caller());
  await world.auth.account.confirmTwoFactor(await browser.caller(), { code: totpOf(secret) });
  expect(await world.auth.account.find({ email: 'nobody@example.test' })).toBeNull();
  expect(await world.auth.account.find({ email })).toEqual({ userId });
  const { path } = await world.auth.account.recover({ userId, removeSecondFactors: true });
  const [, token = ''] = path.split('=');
  await world.auth.account.resetPassword(new Headers(), { token, password: next });
  expect(await (await world.browser().signIn(email, next)).json()).toEqual({ needsCode: false });
  for (const words of ['turned on', 'was restored']) expect(await world.inbox.next(email)).toContain(words);
  // Such a link proves no mailbox.
  const row = await system((tx) => tx.user.findUniqueOrThrow({ where: { id: userId } }));
  expect(row.emailVerified).toBe(false);
});
