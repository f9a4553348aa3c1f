// Tests of accounts at GitHub: linking and sign-in, and the ways to take over an account by them.
import { createAuth } from '@fairlead/auth';
import { changeSessions } from '@fairlead/auth/testing/age-sessions';
import { totpOf } from '@fairlead/auth/testing/totp';
import { newId, parseId } from '@fairlead/contract/ids';
import { processDelivery, recordDeliveries } from '@fairlead/core/push';
import { githubPush } from '@fairlead/core/push/testing';
import { testDatabase } from '@fairlead/db/testing';
import type { FakeGithub } from '@fairlead/testkit';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createGithubIdentity } from './github-identity.ts';
import { connectGithub, connectRepository, startGithub } from './testing/connect-github.ts';
import { origin, startApi, type TestApi } from './testing/test-api.ts';

let api: TestApi;
let fake: FakeGithub;
let githubAppId: Parameters<Caller['account']['startGithubLink']>[0]['githubAppId'];
let ada: { readonly cookie: string; readonly userId: string };
let people = 0;
/** Domain of the dashboard that is not the newest, and the one to which links lead. */
const panel = 'https://panel.example.test';
const newest = 'https://newest.example.test';

type Caller = ReturnType<TestApi['caller']>;

beforeAll(async () => {
  api = await startApi(await testDatabase());
  ada = await api.signUp('Ada', 'owner');
});
afterAll(() => api.close());
beforeEach(async () => {
  fake = await startGithub();
  ({ githubAppId } = await connectGithub(api.caller(ada.cookie), fake));
});

/** Signs up a member with an account at GitHub of the same name, and puts them in front of the browser. */
async function newPerson(role: string | null = 'developer') {
  people += 1;
  const name = `person${people}`;
  const { id } = fake.addAccount(name, 'User');
  fake.state.person = name;
  return { name, githubUserId: id, ...(await api.signUp(name, role)) };
}

/** Goes to GitHub and back, without the last step. */
async function askGithub(cookie: string) {
  const { url } = await api.caller(cookie).account.startGithubLink({ githubAppId });
  const back = new URL(fake.authorize(url)).searchParams;
  return { state: back.get('state') ?? '', code: back.get('code') ?? '' };
}

async function link(cookie: string) {
  return api.caller(cookie).account.completeGithubLink(await askGithub(cookie));
}

/** Turns on an authenticator app; returns its secret. */
async function turnOnTwoFactor(cookie: string): Promise<string> {
  const { account } = api.caller(cookie);
  const { secret } = await account.beginTwoFactor();
  await account.confirmTwoFactor({ code: totpOf(secret) });
  return secret;
}

const changeSession = (userId: string, data: Parameters<typeof changeSessions>[2]) =>
  changeSessions(api.parts.database, userId, data);

const accountsOf = (cookie: string) => api.caller(cookie).account.listGithubAccounts();

/** Browser that signs in through the app that the operator chose. */
function newBrowser(signInAppId: string | null = githubAppId, at = origin) {
  const { database, github, secretKeys, clock, log } = api.parts;
  const auth = createAuth({
    ...api.authOptions,
    domainOrigins: () => [panel],
    linkUrl: () => newest,
    github: createGithubIdentity({ database, github, secretKeys, signInAppId, clock, log }),
  });
  const cookies = new Map<string, string>();
  const headers = (): Record<string, string> => ({
    origin: at,
    'content-type': 'application/json',
    cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
  });
  const post = async (path: string, body: object, from = at) => {
    const request = { method: 'POST', headers: { ...headers(), origin: from }, body: JSON.stringify(body) };
    const response = await auth.handler(new Request(`${origin}/api/auth${path}`, request));
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s);
      if (/Max-Age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
  };
  const askGithubToSignIn = async () => {
    const { body } = await post('/sign-in/github', {});
    const back = new URL(fake.authorize(String(body.url))).searchParams;
    return { state: back.get('state') ?? '', code: back.get('code') ?? '' };
  };
  return {
    cookies,
    post,
    askGithubToSignIn,
    complete: (proof: object) => post('/sign-in/github/complete', proof),
    signIn: async () => post('/sign-in/github/complete', await askGithubToSignIn()),
    session: () => auth.readSession(new Headers(headers())),
  };
}

test('an account is linked, listed and unlinked', async () => {
  const person = await newPerson();
  const before = (await accountsOf(person.cookie)).items.find((each) => each.githubAppId === githubAppId);
  expect(before).toMatchObject({ login: null, signsIn: false, host: new URL(fake.url).host });
  expect(await link(person.cookie)).toEqual({ login: person.name });
  const linked = (await accountsOf(person.cookie)).items.find((each) => each.githubAppId === githubAppId);
  expect(linked).toMatchObject({ login: person.name, linkedAt: expect.any(Date), lastUsedAt: null });
  expect(fake.state.userTokens.size).toBe(0);
  await api.caller(person.cookie).account.deleteGithubLink({ githubAppId });
  await expect(api.caller(person.cookie).account.deleteGithubLink({ githubAppId })).rejects.toThrow('no such link');
  const kinds = (await api.caller(person.cookie).account.listEvents()).items.map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['github_linked', 'github_unlinked']));
});

test('a member whose linked account pushed to a protected environment cannot approve the deployment', async () => {
  const { organizationId, serverId } = api.world;
  const shop = await connectRepository(api.caller(ada.cookie));
  onTestFinished(() => shop.fake.close());
  const { installationId, repositoryId } = shop;
  ({ fake, githubAppId } = shop);
  const person = await newPerson('deployer');
  await link(person.cookie);
  const source = { kind: 'github', installationId, repositoryId } as const;
  const input = { name: 'Protected shop', source, serverIds: [serverId], firstDeploy: 'none' as const };
  const { id: appId } = await api.caller(ada.cookie).app.create(input);
  const protect = (isProtected: boolean) =>
    api.world.system(({ tx }) =>
      tx.environment.updateMany({ where: { organizationId }, data: { protected: isProtected } }),
    );
  await protect(true);
  onTestFinished(async () => void (await protect(false)));
  const body = githubPush({ repositoryId, senderId: person.githubUserId });
  const delivery = {
    source: 'github',
    endpointId: githubAppId,
    event: 'push',
    deliveryKey: newId('evt'),
    body,
  } as const;
  const [recorded] = await api.world.system((ctx) => recordDeliveries(ctx, [{ ...delivery, organizationId }]));
  const deliveryId = parseId('dlv', recorded?.deliveryId ?? '');
  const actor = { kind: 'system', reason: 'delivery.process' } as const;
  await api.world.tenant((ctx) => processDelivery({ ...ctx, actor }, { deliveryId }));
  const [waiting] = (await api.caller(ada.cookie).deployment.list({ appId })).items;
  if (waiting === undefined) throw new Error('the push has no deployment');
  const deploymentId = waiting.id;
  const own = api.caller(person.cookie).deployment;
  expect((await own.get({ deploymentId })).approval).toMatchObject({ state: 'pending', isOwn: true });
  await expect(own.approve({ deploymentId })).rejects.toThrow('You asked for this deployment yourself');
  await expect(own.refuse({ deploymentId })).rejects.toThrow('You asked for this deployment yourself');
  await api.caller(ada.cookie).deployment.approve({ deploymentId });
});

test.each([origin, panel])('sign-in at %s returns to it, whatever the address of links is', async (at) => {
  const person = await newPerson();
  await link(person.cookie);
  const browser = newBrowser(githubAppId, at);
  const { body } = await browser.post('/sign-in/github', {});
  const url = new URL(String(body.url));
  expect(url.searchParams.get('redirect_uri')).toBe(`${at}/sign-in/github`);
  const back = new URL(fake.authorize(url.href));
  expect(back.origin).toBe(at);
  const proof = { state: back.searchParams.get('state') ?? '', code: back.searchParams.get('code') ?? '' };
  expect((await browser.complete(proof)).status).toBe(200);
});

test('sign-in and links start at no address that is not one of the dashboard', async () => {
  expect((await newBrowser(githubAppId, 'https://evil.example.test').post('/sign-in/github', {})).status).toBe(403);
  const person = await newPerson();
  const from = (at: string) => api.caller(person.cookie, undefined, { origin: at });
  await expect(from('https://evil.example.test').account.startGithubLink({ githubAppId })).rejects.toThrow();
  const { url } = await from(origin).account.startGithubLink({ githubAppId });
  expect(new URL(url).searchParams.get('redirect_uri')).toBe(`${origin}/account/github`);
});

test('an app of another organization is not offered, and cannot be asked for', async () => {
  const stranger = await newPerson(null);
  expect(await accountsOf(stranger.cookie)).toEqual({ items: [] });
  await expect(api.caller(stranger.cookie).account.startGithubLink({ githubAppId })).rejects.toThrow('not connected');
});

test('the redirect comes back to the session that started it, once', async () => {
  const [victim, attacker] = [await newPerson(), await newPerson()];
  const proof = await askGithub(attacker.cookie);
  // The victim's browser opens a link that the attacker started.
  await expect(api.caller(victim.cookie).account.completeGithubLink(proof)).rejects.toThrow(
    'started by another person',
  );
  // The state is used up now, for the attacker too.
  await expect(api.caller(attacker.cookie).account.completeGithubLink(proof)).rejects.toThrow('used before');
  const replayed = await askGithub(victim.cookie);
  await api.caller(victim.cookie).account.completeGithubLink(replayed);
  await expect(api.caller(victim.cookie).account.completeGithubLink(replayed)).rejects.toThrow('used before');
  const other = await askGithub(attacker.cookie);
  await expect(
    api.caller(attacker.cookie).account.completeGithubLink({ ...other, code: replayed.code }),
  ).rejects.toThrow('rejected the code');
  const guessed = { state: 'guessed', code: 'guessed' };
  await expect(api.caller(victim.cookie).account.completeGithubLink(guessed)).rejects.toThrow('used before');
});

test('an account at GitHub belongs to one person, and a person has one', async () => {
  const person = await newPerson();
  await link(person.cookie);
  expect(await link(person.cookie)).toEqual({ login: person.name });
  const thief = await newPerson();
  fake.state.person = person.name;
  await expect(link(thief.cookie)).rejects.toThrow('linked already');
  fake.state.person = thief.name;
  await link(thief.cookie);
  fake.addAccount('second', 'User');
  fake.state.person = 'second';
  await expect(link(thief.cookie)).rejects.toThrow('linked already');
});

test('linking needs a fresh session and the second factor of the account', async () => {
  const person = await newPerson();
  const proof = await askGithub(person.cookie);
  await turnOnTwoFactor(person.cookie);
  await changeSession(person.userId, { secondFactorAt: null });
  // Each call reads the session again.
  const account = () => api.caller(person.cookie).account;
  await expect(account().startGithubLink({ githubAppId })).rejects.toThrow('Confirm with a passkey');
  await expect(account().completeGithubLink(proof)).rejects.toThrow('Confirm with a passkey');
  await expect(account().deleteGithubLink({ githubAppId })).rejects.toThrow('Confirm with a passkey');
  const hourAgo = new Date(Date.now() - 3_600_000);
  await changeSession(person.userId, { secondFactorAt: new Date(), createdAt: hourAgo, confirmedAt: hourAgo });
  await expect(account().startGithubLink({ githubAppId })).rejects.toThrow("Confirm that it's you");
  await expect(account().completeGithubLink(proof)).rejects.toThrow("Confirm that it's you");
  // A refusal does not use up the state.
  await changeSession(person.userId, { confirmedAt: new Date() });
  expect(await account().completeGithubLink(proof)).toEqual({ login: person.name });
});

test('sign-in opens the account of the numeric id, whatever its name and address are', async () => {
  const person = await newPerson();
  await link(person.cookie);
  const account = fake.state.accounts.find(({ login }) => login === person.name);
  if (account === undefined) throw new Error('no account');
  account.login = 'renamed';
  fake.state.person = 'renamed';
  const browser = newBrowser();
  expect(await browser.signIn()).toMatchObject({ status: 200, body: { needsCode: false } });
  expect(await browser.session()).toMatchObject({ user: { id: person.userId, hasSecondFactor: false } });
  expect([...browser.cookies.keys()].some((name) => name.endsWith('.github'))).toBe(false);
  // Another person takes the name that became free, with the same address.
  fake.addAccount(person.name, 'User');
  fake.state.person = person.name;
  const thief = newBrowser();
  expect(await thief.signIn()).toMatchObject({ status: 401, body: { code: 'session.github_unknown' } });
  expect(await thief.session()).toBeNull();
});

test('the way back works in the browser that started it only, once, and only for sign-in', async () => {
  const person = await newPerson();
  await link(person.cookie);
  const [attacker, victim] = [newBrowser(), newBrowser()];
  const proof = await attacker.askGithubToSignIn();
  expect(await victim.complete(proof)).toMatchObject({ body: { code: 'github.state_invalid' } });
  expect(await attacker.complete(proof)).toMatchObject({ body: { code: 'github.state_invalid' } });
  const good = await victim.askGithubToSignIn();
  const cookies = new Map(victim.cookies);
  expect(await victim.complete(good)).toMatchObject({ status: 200 });
  for (const [name, value] of cookies) victim.cookies.set(name, value);
  expect(await victim.complete(good)).toMatchObject({ body: { code: 'github.state_invalid' } });
  // A state of linking signs nobody in, and the other way round.
  await victim.askGithubToSignIn();
  expect(await victim.complete(await askGithub(person.cookie))).toMatchObject({
    body: { code: 'github.state_invalid' },
  });
  await expect(
    api.caller(person.cookie).account.completeGithubLink(await newBrowser().askGithubToSignIn()),
  ).rejects.toThrow('used before');
  // A code that another redirect asked for does not fit the verifier.
  const [first, second] = [await attacker.askGithubToSignIn(), await attacker.askGithubToSignIn()];
  expect(await attacker.complete({ state: second.state, code: first.code })).toMatchObject({
    body: { code: 'github.code_refused' },
  });
});

test('sign-in replaces no second factor', async () => {
  const person = await newPerson();
  await link(person.cookie);
  const secret = await turnOnTwoFactor(person.cookie);
  const browser = newBrowser();
  expect(await browser.signIn()).toMatchObject({ status: 200, body: { needsCode: true } });
  expect(await browser.session()).toBeNull();
  expect(await browser.post('/two-factor/verify-totp', { code: '000000' })).toMatchObject({ status: 401 });
  expect(await browser.session()).toBeNull();
  const code = totpOf(secret, 30_000);
  expect(await browser.post('/two-factor/verify-totp', { code })).toMatchObject({ status: 200 });
  expect(await browser.session()).toMatchObject({ user: { id: person.userId, hasSecondFactor: true } });
});

test('without the choice of the operator, or by another app, nobody signs in', async () => {
  const person = await newPerson();
  await link(person.cookie);
  expect(await newBrowser(null).post('/sign-in/github', {})).toMatchObject({ body: { code: 'session.github_off' } });
  const browser = newBrowser();
  const proof = await browser.askGithubToSignIn();
  const other = newBrowser(null);
  for (const [name, value] of browser.cookies) other.cookies.set(name, value);
  expect(await other.complete(proof)).toMatchObject({ body: { code: 'session.github_off' } });
  // The person linked their account by the first app only: the owners of another app have no way in.
  fake = await startGithub();
  const { githubAppId: second } = await connectGithub(api.caller(ada.cookie), fake);
  fake.state.accounts.push({ id: person.githubUserId, login: person.name, type: 'User' });
  fake.state.person = person.name;
  expect(await newBrowser(second).signIn()).toMatchObject({ body: { code: 'session.github_unknown' } });
});

test('a link opens nothing once it is removed, or its account was restored', async () => {
  const person = await newPerson();
  await link(person.cookie);
  const browser = newBrowser();
  const proof = await browser.askGithubToSignIn();
  await api.caller(person.cookie).account.deleteGithubLink({ githubAppId });
  expect(await browser.complete(proof)).toMatchObject({ body: { code: 'session.github_unknown' } });
  await link(person.cookie);
  const { path } = await api.parts.auth.account.recover({ userId: person.userId, removeSecondFactors: true });
  expect(path).toContain('#token=');
  expect(await newBrowser().signIn()).toMatchObject({ body: { code: 'session.github_unknown' } });
});

test('a GitHub App that is removed takes its links along, and a page of another origin starts nothing', async () => {
  const person = await newPerson();
  await link(person.cookie);
  const browser = newBrowser();
  expect(await browser.post('/sign-in/github', {}, 'https://evil.example.test')).toMatchObject({ status: 403 });
  const proof = await browser.askGithubToSignIn();
  expect(await browser.post('/sign-in/github/complete', proof, 'https://evil.example.test')).toMatchObject({
    status: 403,
  });
  await api.caller(ada.cookie).github.deleteApp({ githubAppId });
  const { items } = await accountsOf(person.cookie);
  expect(items.some((each) => each.githubAppId === githubAppId)).toBe(false);
  expect(await browser.complete(proof)).toMatchObject({ body: { code: 'session.github_off' } });
});
