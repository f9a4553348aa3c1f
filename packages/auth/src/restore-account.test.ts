// Recovery of an account without a factor after a short theft: the mailbox can always undo it.
import { identityClient } from '@fairlead/db/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuth } from './create-auth.ts';
import { type Authenticator, createAuthenticator } from './testing/authenticator.ts';
import { type Browser, password, startTestAuth, type TestAuth, tokenIn } from './testing/index.ts';
import { addPasskey, signInByPasskey } from './testing/passkey-calls.ts';
import { totpOf } from './testing/totp.ts';

let world: TestAuth;
beforeAll(async () => {
  world = await startTestAuth();
});
afterAll(() => world.close());

const client = () => identityClient(world.db.database);
const next = 'another long password';
const stolen = 'a password of the thief';

interface Victim {
  readonly email: string;
  readonly userId: string;
  readonly owner: Browser;
  readonly thief: Browser;
}

/** An owner with a confirmed address and no factor, and a thief who knows the password. */
async function victim(name: string): Promise<Victim> {
  const account = await world.newAccount(name);
  await client().user.update({ where: { id: account.userId }, data: { emailVerified: true } });
  const [owner, thief] = [world.browser(), world.browser()];
  await owner.signIn(account.email);
  await thief.signIn(account.email);
  return { ...account, owner, thief };
}

async function mailWith(email: string, words: string): Promise<string> {
  for (;;) {
    const mail = await world.inbox.next(email);
    if (mail.replaceAll('=\r\n', '').includes(words)) return mail;
  }
}

async function takeByPasskey(thief: Browser): Promise<Authenticator> {
  const device = createAuthenticator();
  expect((await addPasskey(thief, device)).status).toBe(200);
  return device;
}

async function moveTo(browser: Browser, email: string): Promise<void> {
  await world.auth.account.requestEmailChange(await browser.caller(), { email });
  const token = tokenIn(await mailWith(email, 'Confirm your email address'), 'verify-email');
  await world.auth.account.verifyEmail(new Headers(), { token });
}

async function resetByMail(email: string, chosen: string): Promise<void> {
  await world.auth.account.requestReset(new Headers(), { email });
  const token = tokenIn(await mailWith(email, 'Set a new password'), 'reset-password');
  await world.auth.account.resetPassword(new Headers(), { token, password: chosen });
}

const restore = (token: string) => world.auth.account.resetPassword(new Headers(), { token, password: next });
const outcomeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? 'no code',
  );

async function expectOwned({ email, userId, owner, thief }: Victim): Promise<void> {
  expect(await (await owner.signIn(email, next)).json()).toEqual({ needsCode: false });
  expect((await owner.session()).user.id).toBe(userId);
  await expect(thief.session()).rejects.toThrow(/not signed in/);
  const { passkeys, hasSecondFactor, recoveryCodesLeft } = await world.auth.account.get(await owner.caller());
  expect({ passkeys, hasSecondFactor, recoveryCodesLeft }).toEqual({
    passkeys: [],
    hasSecondFactor: false,
    recoveryCodesLeft: 0,
  });
  expect(await client().accountLink.count({ where: { userId } })).toBe(0);
}

test("a thief's first passkey is undone by the link of the mail that tells of it", async () => {
  const theft = await victim('Passkey');
  const device = await takeByPasskey(theft.thief);
  const mail = await mailWith(theft.email, 'A passkey was added');
  // The owner is signed out, and a reset alone leaves the thief's passkey in place.
  await expect(theft.owner.session()).rejects.toThrow(/not signed in/);
  await resetByMail(theft.email, 'a password of the owner');
  expect((await signInByPasskey(theft.thief, device)).status).toBe(200);

  expect(await outcomeOf(restore(tokenIn(mail, 'restore-account')))).toBe('ok');
  expect((await signInByPasskey(world.browser(), device)).status).toBe(401);
  await expectOwned(theft);
  expect(await outcomeOf(restore(tokenIn(mail, 'restore-account')))).toBe('account.link_invalid');
  expect(await mailWith(theft.email, 'restored')).not.toContain('#token');
});

test("a thief's first authenticator app is undone by the link of the mail that tells of it", async () => {
  const theft = await victim('App');
  const { account } = world.auth;
  const { secret } = await account.beginTwoFactor(await theft.thief.caller());
  await account.confirmTwoFactor(await theft.thief.caller(), { code: totpOf(secret) });
  const token = tokenIn(await mailWith(theft.email, 'Two-factor sign-in was turned on'), 'restore-account');
  expect(await outcomeOf(restore(token))).toBe('ok');
  await expectOwned(theft);
});

test('no action of the thief withdraws the link', async () => {
  const theft = await victim('Moved');
  const { account } = world.auth;
  const { thief, email, userId } = theft;
  await takeByPasskey(thief);
  const token = tokenIn(await mailWith(email, 'A passkey was added'), 'restore-account');
  const mine = 'moved@thief.example.test';
  await moveTo(thief, mine);
  await account.updatePassword(await thief.caller(), { current: password, next: stolen });
  const [passkey] = (await account.get(await thief.caller())).passkeys;
  await account.removePasskey(await thief.caller(), { passkeyId: passkey?.id ?? '' });
  // A first factor again, and the address is the thief's by now: no link goes there.
  await takeByPasskey(thief);
  expect(await mailWith(mine, 'A passkey was added')).not.toContain('restore-account');
  const other = await takeByPasskey(thief);
  await resetByMail(mine, stolen);
  expect((await signInByPasskey(thief, other)).status).toBe(200);

  // Meanwhile the owner's address cannot be taken.
  const taken = world.auth.createAccount({ name: 'Eve', email: email.toUpperCase(), password: stolen });
  expect(await outcomeOf(taken)).toBe('account.email_taken');
  const eve = world.browser();
  await eve.signIn((await world.newAccount('Eve')).email);
  expect(await outcomeOf(moveTo(eve, email))).toBe('account.link_invalid');

  expect(await outcomeOf(restore(token))).toBe('ok');
  await expectOwned(theft);
  expect(await client().user.count({ where: { email: mine } })).toBe(0);
  await account.requestReset(new Headers(), { email: mine });
  expect(await client().accountLink.count({ where: { userId } })).toBe(0);
});

test('an address that a thief changed comes back by the link of the mail to the old one', async () => {
  const theft = await victim('Address');
  const mine = 'address@thief.example.test';
  await moveTo(theft.thief, mine);
  const token = tokenIn(await mailWith(theft.email, 'Your email address was changed'), 'restore-account');
  await takeByPasskey(theft.thief);
  expect(await mailWith(mine, 'A passkey was added')).not.toContain('restore-account');
  expect(await outcomeOf(restore(token))).toBe('ok');
  await expectOwned(theft);
});

test('several links to one address stay valid, so that a thief cannot replace the one that is being read', async () => {
  const theft = await victim('Spinner');
  const { account } = world.auth;
  const tokens: string[] = [];
  const addAndRead = async () => {
    await takeByPasskey(theft.thief);
    return mailWith(theft.email, 'A passkey was added');
  };
  for (let time = 0; time < 10; time += 1) {
    tokens.push(tokenIn(await addAndRead(), 'restore-account'));
    const [passkey] = (await account.get(await theft.thief.caller())).passkeys;
    await account.removePasskey(await theft.thief.caller(), { passkeyId: passkey?.id ?? '' });
  }
  expect(await addAndRead()).not.toContain('restore-account');
  expect(await outcomeOf(restore(tokens[0] ?? ''))).toBe('ok');
  await expectOwned(theft);
  expect(await outcomeOf(restore(tokens[9] ?? ''))).toBe('account.link_invalid');
});

test('no link goes to an address that was never confirmed, nor with a factor that a proven session added', async () => {
  const { email, owner } = await victim('Proven');
  await addPasskey(owner, createAuthenticator());
  tokenIn(await mailWith(email, 'A passkey was added'), 'restore-account');
  await addPasskey(owner, createAuthenticator());
  expect(await mailWith(email, 'A passkey was added')).not.toContain('restore-account');
  await moveTo(owner, 'proven.moved@example.test');
  expect(await mailWith(email, 'Your email address was changed')).not.toContain('restore-account');

  const fresh = await world.newAccount('Unconfirmed');
  const browser = world.browser();
  await browser.signIn(fresh.email);
  await addPasskey(browser, createAuthenticator());
  expect(await mailWith(fresh.email, 'A passkey was added')).not.toContain('restore-account');

  const silent = createAuth({ ...world.options, mail: null });
  const { owner: unmailed, userId } = await victim('Silent');
  const { secret } = await silent.account.beginTwoFactor(await unmailed.caller());
  await silent.account.confirmTwoFactor(await unmailed.caller(), { code: totpOf(secret) });
  expect(await client().accountLink.count({ where: { userId } })).toBe(0);
});

test('a restore link works for seven days, opens nothing else, and yields to the server’s operator', async () => {
  const first = await victim('Late');
  await takeByPasskey(first.thief);
  const late = tokenIn(await mailWith(first.email, 'A passkey was added'), 'restore-account');
  const { account } = world.auth;
  expect(await outcomeOf(account.verifyEmail(new Headers(), { token: late }))).toBe('account.link_invalid');
  const { expiresAt, createdAt } = await client().accountLink.findFirstOrThrow({ where: { userId: first.userId } });
  const days = (expiresAt.getTime() - createdAt.getTime()) / (24 * 60 * 60_000);
  expect(days).toBeCloseTo(7, 2);
  await client().accountLink.updateMany({ where: { userId: first.userId }, data: { expiresAt: new Date() } });
  expect(await outcomeOf(restore(late))).toBe('account.link_invalid');

  const second = await victim('Operator');
  await takeByPasskey(second.thief);
  const token = tokenIn(await mailWith(second.email, 'A passkey was added'), 'restore-account');
  await account.recover({ userId: second.userId, removeSecondFactors: true });
  expect(await outcomeOf(restore(token))).toBe('account.link_invalid');
});

test('factors that a thief adds between the server’s command and the use of its link are removed', async () => {
  const theft = await victim('Between');
  const { account } = world.auth;
  const { thief, email, userId } = theft;
  await takeByPasskey(thief);
  const { path } = await account.recover({ userId, removeSecondFactors: true });
  await expect(thief.session()).rejects.toThrow(/not signed in/);
  // The thief knows the password, because the owner has not changed it yet.
  await thief.signIn(email);
  const device = await takeByPasskey(thief);
  await account.requestReset(new Headers(), { email });
  await mailWith(email, 'Set a new password');

  const [, token = ''] = path.split('=');
  expect(await outcomeOf(restore(token))).toBe('ok');
  expect((await signInByPasskey(world.browser(), device)).status).toBe(401);
  await expectOwned(theft);
});
