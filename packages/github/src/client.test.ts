// Tests of the client against the fake GitHub, which checks what is sent against GitHub's published description.
import { createOutbound } from '@fairlead/outbound';
import { createFakeGithub, type FakeGithub } from '@fairlead/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { appPermissions, createGithub, type Github } from './index.ts';
import { ask } from './transport.ts';

let fake: FakeGithub;
let github: Github;

beforeEach(async () => {
  fake = await createFakeGithub();
  const outbound = createOutbound({ allowed: ['127.0.0.1'] });
  github = createGithub({ outbound, now: () => new Date() });
});
afterEach(async () => {
  expect(fake.state.problems).toEqual([]);
  await fake.close();
});

const manifest = JSON.stringify({
  name: 'Fairlead acme',
  url: 'https://fairlead.example.test',
  redirect_url: 'https://fairlead.example.test/back',
  callback_urls: ['https://fairlead.example.test/back'],
  default_permissions: appPermissions,
});

async function register() {
  const owner = fake.addAccount('acme');
  const back = new URL(fake.createApp({ manifest, state: 'state', owner: 'acme' }));
  const app = await github.convertManifest(fake.url, back.searchParams.get('code') ?? '');
  return { owner, app, key: { baseUrl: fake.url, githubId: app.githubId, privateKey: app.privateKey } };
}

async function installed() {
  const { owner, app, key } = await register();
  const back = new URL(fake.install({ slug: app.slug, state: 'state', account: 'acme' }));
  const installationId = Number(back.searchParams.get('installation_id'));
  return { owner, app, key, installationId, code: back.searchParams.get('code') ?? '' };
}

test('a manifest becomes an app once', async () => {
  const back = new URL(fake.createApp({ manifest, state: 'mine', owner: fake.addAccount('acme').login }));
  expect(back.searchParams.get('state')).toBe('mine');
  const code = back.searchParams.get('code') ?? '';
  const app = await github.convertManifest(fake.url, code);
  expect(app).toMatchObject({ slug: 'fairlead-acme', ownerLogin: 'acme' });
  expect(app.privateKey).toContain('BEGIN RSA PRIVATE KEY');
  await expect(github.convertManifest(fake.url, code)).rejects.toMatchObject({ code: 'not_found' });
});

test('the person of a code sees the installation, and a code works once', async () => {
  const { app, code, installationId } = await installed();
  const { clientId, clientSecret } = app;
  const userToken = await github.exchangeCode(fake.url, { clientId, clientSecret, code });
  expect(await github.listUserInstallations(fake.url, userToken)).toEqual([installationId]);
  await github.revokeUserToken(fake.url, { clientId, clientSecret, userToken });
  await expect(github.listUserInstallations(fake.url, userToken)).rejects.toMatchObject({ code: 'unauthorized' });
  await expect(github.exchangeCode(fake.url, { clientId, clientSecret, code })).rejects.toMatchObject({
    code: 'unauthorized',
  });
});

test('a token reads one repository, with the permissions of its purpose', async () => {
  const { owner, key, installationId } = await installed();
  const shop = fake.addRepository(owner, 'shop', { files: ['apps/web/package.json', 'package.json'] });
  fake.addRepository(owner, 'other');
  const { token, expiresAt } = await github.createToken(key, installationId, {
    permissions: { contents: 'read', metadata: 'read' },
    repositoryIds: [shop.id],
  });
  expect(expiresAt.getTime()).toBeGreaterThan(Date.now());
  expect((await github.listRepositories(fake.url, token)).map(({ fullName }) => fullName)).toEqual(['acme/shop']);
  expect(await github.listBranches(fake.url, token, 'acme/shop')).toEqual([
    { name: 'main', commitHash: 'a'.repeat(40) },
  ]);
  expect(await github.listPaths(fake.url, token, { fullName: 'acme/shop', ref: 'main' })).toEqual([
    'apps/web/package.json',
    'package.json',
  ]);
  await expect(github.listBranches(fake.url, token, 'acme/other')).rejects.toMatchObject({ code: 'not_found' });
});

test('another app’s key, a suspended installation and a foreign repository are refused', async () => {
  const { key, installationId } = await installed();
  const grant = { permissions: { contents: 'read' } as const };
  const stranger = fake.addRepository(fake.addAccount('else'), 'secret');
  await expect(
    github.createToken(key, installationId, { ...grant, repositoryIds: [stranger.id] }),
  ).rejects.toMatchObject({ code: 'invalid' });
  await expect(github.getInstallation({ ...key, githubId: 1 }, installationId)).rejects.toMatchObject({
    code: 'unauthorized',
  });
  const [installation] = fake.state.installations;
  if (installation !== undefined) installation.suspendedAt = new Date().toISOString();
  expect((await github.getInstallation(key, installationId)).suspendedAt).toBeInstanceOf(Date);
  await expect(github.createToken(key, installationId, grant)).rejects.toMatchObject({ code: 'forbidden' });
});

test('a private key that cannot be read is refused, and is not in the error', async () => {
  const { key, installationId } = await installed();
  const broken = { ...key, privateKey: 'no key' };
  const refused = github.createToken(broken, installationId, { permissions: { metadata: 'read' } });
  await expect(refused).rejects.toMatchObject({ code: 'unauthorized', message: expect.not.stringContaining('no key') });
});

test('rate limits name the time of the next attempt, and an outage is one', async () => {
  const { key, installationId } = await installed();
  for (const kind of ['primary', 'secondary'] as const) {
    fake.state.faults.rateLimit = { kind, remaining: 1, retryAfterSeconds: 90 };
    const error = await github.getInstallation(key, installationId).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'rate_limited', retryAt: expect.any(Date) });
  }
  expect((await github.getInstallation(key, installationId)).accountLogin).toBe('acme');
  fake.state.faults.down = true;
  await expect(github.getInstallation(key, installationId)).rejects.toMatchObject({ code: 'unreachable' });
  fake.state.faults.down = false;
  const closed = createGithub({ outbound: createOutbound({ allowed: [] }), now: () => new Date() });
  await expect(closed.getInstallation(key, installationId)).rejects.toMatchObject({ code: 'refused_address' });
});

test('addresses of an app are read, and its webhook gets another URL', async () => {
  const { key } = await register();
  const former = { homepageUrl: 'https://fairlead.example.test', webhookUrl: 'https://former.example.test/hook' };
  const [app] = fake.state.apps;
  if (app !== undefined) app.hookUrl = former.webhookUrl;
  expect(await github.getAppAddresses(key)).toEqual({ ...former, ownerType: 'Organization' });
  await github.updateWebhookUrl(key, 'https://fairlead.example.test/hook');
  expect(await github.getAppAddresses(key)).toMatchObject({ webhookUrl: 'https://fairlead.example.test/hook' });
  if (app !== undefined) app.hookUrl = null;
  expect(await github.getAppAddresses(key)).toMatchObject({ webhookUrl: '' });
});

test('an answer in another form than GitHub’s is told as such, whatever reading it throws', async () => {
  for (const error of [new TypeError('data.map'), new SyntaxError('JSON'), new RangeError('date')]) {
    const answer = ask({ now: () => new Date() }, () => Promise.reject(error));
    await expect(answer).rejects.toMatchObject({ name: 'GithubError', code: 'unreachable' });
  }
});
