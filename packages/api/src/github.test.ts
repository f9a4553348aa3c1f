// Tests of connecting GitHub: states, proof of an installation, repositories, and what happens to them at GitHub.
import { testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectGithub, installAtGithub, registerAtGithub, startGithub } from './testing/connect-github.ts';
import { origin, startApi, type TestApi } from './testing/test-api.ts';

let api: TestApi;
let owner: string;
let admin: string;

beforeAll(async () => {
  api = await startApi(await testDatabase());
  ({ cookie: owner } = await api.signUp('Ada', 'owner'));
  ({ cookie: admin } = await api.signUp('Grace', 'admin'));
});
afterAll(() => api.close());

const as = (cookie: string) => api.caller(cookie);

/** Connects a fake GitHub with one repository. */
async function connected() {
  const fake = await startGithub();
  const [account] = fake.state.accounts;
  if (account === undefined) throw new Error('no account');
  const repository = fake.addRepository(account, 'shop', { files: ['package.json', 'apps/web/package.json'] });
  return { fake, account, repository, ...(await connectGithub(as(owner), fake)) };
}

test('an app is registered and installed, and its repositories are listed', async () => {
  const { fake, installationId, repository } = await connected();
  const { items } = await as(owner).github.listApps();
  const app = items.find(({ baseUrl }) => baseUrl === fake.url);
  expect(app).toMatchObject({
    ownerLogin: 'acme',
    installations: [{ accountLogin: 'acme', state: 'active', repositories: 1 }],
  });
  const [made] = fake.state.apps;
  expect(made?.isPublic).toBe(false);
  expect(made?.permissions).toEqual({
    contents: 'read',
    metadata: 'read',
    checks: 'write',
    statuses: 'write',
    deployments: 'write',
    pull_requests: 'write',
  });
  const { items: found } = await as(owner).github.listRepositories({ search: 'SHOP' });
  expect(found.filter((each) => each.installationId === installationId)).toMatchObject([
    { fullName: 'acme/shop', repositoryId: repository.id, isPrivate: true, url: `${fake.url}/acme/shop.git` },
  ]);
  const ref = { installationId, repositoryId: repository.id };
  expect(await as(owner).github.inspectRepository(ref)).toEqual({ branches: ['main'], folders: ['', 'apps/web'] });
  expect(fake.state.problems).toEqual([]);
});

test('watch paths are suggested from the workspace of the app’s repository', async () => {
  const { repository, installationId } = await connected();
  repository.files = ['package.json', 'apps/web/package.json', 'packages/ui/package.json', 'packages/db/package.json'];
  repository.contents = {
    'package.json': JSON.stringify({ workspaces: ['apps/*', 'packages/*'] }),
    'apps/web/package.json': JSON.stringify({ name: 'web', dependencies: { ui: '*' } }),
    'packages/ui/package.json': JSON.stringify({ name: 'ui' }),
    'packages/db/package.json': JSON.stringify({ name: 'db' }),
  };
  const { id: appId } = await as(owner).app.create({
    name: 'Workspace',
    source: { kind: 'github', installationId, repositoryId: repository.id, rootFolder: 'apps/web' },
    serverIds: [api.world.serverId],
    firstDeploy: 'none',
  });
  expect(await as(owner).push.suggestPaths({ appId })).toEqual({
    watchPaths: ['apps/web/**', 'packages/ui/**', 'package.json'],
  });
  const { appId: plain } = await api.world.createApp('Without a link', { deployNow: false });
  expect(await as(owner).push.suggestPaths({ appId: plain })).toEqual({ watchPaths: [] });
});

test('no row and no answer has a secret of the app in the clear', async () => {
  const { fake } = await connected();
  const [app] = fake.state.apps;
  const rows = await api.world.system(({ tx }) => tx.githubApp.findMany());
  const text = rows.map((row) =>
    [row.privateKey, row.webhookSecret, row.clientSecret].map((bytes) => Buffer.from(bytes).toString('latin1')).join(),
  );
  const answers = JSON.stringify([await as(owner).github.listApps(), api.errors]);
  for (const secret of [app?.pem.slice(40, 80), app?.webhookSecret, app?.clientSecret]) {
    expect(secret).toBeTruthy();
    expect(text.join()).not.toContain(secret);
    expect(answers).not.toContain(secret);
  }
});

test('a state works once, within an hour, for its own person and purpose', async () => {
  const fake = await startGithub();
  const first = await registerAtGithub(as(owner), fake);
  await expect(as(admin).github.completeRegistration(first)).rejects.toMatchObject({
    message: expect.stringContaining('started by another person'),
  });
  await expect(as(owner).github.completeRegistration({ ...first, state: 'ghs_guess' })).rejects.toThrow();
  const { url } = await as(owner).github.completeRegistration(first);
  await expect(as(owner).github.completeRegistration(first)).rejects.toThrow('used before');
  const install = installAtGithub(fake, url);
  // The state of an installation registers nothing.
  await expect(as(owner).github.completeRegistration({ state: install.state, code: 'x' })).rejects.toThrow();
  const expiresAt = api.world.clock.now();
  await api.world.system(({ tx }) => tx.githubState.updateMany({ data: { expiresAt } }));
  await expect(as(owner).github.completeInstall(install)).rejects.toThrow('older than an hour');
});

test('an installation that GitHub does not show to the person, or of another app, is not linked', async () => {
  const { fake, githubAppId } = await connected();
  fake.addAccount('globex');
  const other = await as(owner).github.completeRegistration(await registerAtGithub(as(owner), fake, 'globex'));
  const foreign = installAtGithub(fake, other.url, 'globex');
  const { url } = await as(owner).github.startInstall({ githubAppId });
  const back = installAtGithub(fake, url);
  const { installationId } = foreign;
  await expect(as(owner).github.completeInstall({ ...back, installationId })).rejects.toThrow(
    'does not show this installation',
  );
  const retry = installAtGithub(fake, (await as(owner).github.startInstall({ githubAppId })).url);
  await expect(as(owner).github.completeInstall({ ...retry, code: 'forged' })).rejects.toThrow('rejected the code');
});

test('suspended, removed, renamed and lost ones are followed, and nothing is made of them', async () => {
  const { fake, account, repository, githubAppId, installationId } = await connected();
  const [installation] = fake.state.installations;
  if (installation === undefined) throw new Error('not installed');
  const source = { kind: 'github' as const, installationId, repositoryId: repository.id };
  const { id: appId, slug } = await as(owner).app.create({
    name: 'From GitHub',
    source,
    serverIds: [api.world.serverId],
    firstDeploy: 'none',
  });
  const urlOf = async () => (await as(owner).app.get({ slug })).repositoryUrl;
  const linkOf = async () => (await as(owner).github.getAppRepository({ appId })).repository;
  expect(await urlOf()).toBe(`${fake.url}/acme/shop.git`);

  repository.name = 'store';
  account.login = 'acme-inc';
  await as(owner).github.sync({ githubAppId });
  expect(await urlOf()).toBe(`${fake.url}/acme-inc/store.git`);
  expect(await linkOf()).toMatchObject({ fullName: 'acme-inc/store', state: 'active', accountLogin: 'acme-inc' });

  installation.repositoryIds = [];
  await as(owner).github.sync({ githubAppId });
  expect(await linkOf()).toMatchObject({ state: 'lost' });
  const another = { name: 'Another', source, serverIds: [api.world.serverId], firstDeploy: 'none' as const };
  await expect(as(owner).app.create(another)).rejects.toThrow('does not reach this repository');

  installation.repositoryIds = null;
  installation.suspendedAt = new Date().toISOString();
  await as(owner).github.sync({ githubAppId });
  expect(await linkOf()).toMatchObject({ state: 'suspended' });
  await expect(as(owner).app.create(another)).rejects.toThrow('does not reach this repository');

  fake.state.installations.length = 0;
  await as(owner).github.sync({ githubAppId });
  expect(await linkOf()).toMatchObject({ state: 'removed' });
  await expect(as(owner).github.deleteApp({ githubAppId })).rejects.toThrow('Change their source first');

  await as(owner).app.update({ appId, repositoryUrl: 'https://git.example.test/shop.git' });
  expect(await linkOf()).toBeNull();
  await as(owner).github.deleteApp({ githubAppId });
  expect((await as(owner).github.listApps()).items.some(({ id }) => id === githubAppId)).toBe(false);
});

test('an app with a former address of the dashboard is found, and its webhook gets the present one', async () => {
  const { fake, githubAppId } = await connected();
  const [app] = fake.state.apps;
  if (app === undefined) throw new Error('no app');
  const ref = { githubAppId };
  const own = await as(owner).github.getAddresses(ref);
  expect(own).toMatchObject({
    webhook: { isForeign: false, expected: `${origin}/api/webhook/${githubAppId}` },
    homepage: { isForeign: false, atGithub: origin },
    settingsUrl: `${fake.url}/organizations/acme/settings/apps/${app.slug}`,
  });
  expect(own.callbackUrls).toEqual(app.callbackUrls);
  // A further domain of the dashboard receives webhooks too.
  app.hookUrl = `https://panel.example.test/api/webhook/${githubAppId}`;
  expect((await as(owner).github.getAddresses(ref)).webhook.isForeign).toBe(false);

  const former = `https://former.example.test/api/webhook/${githubAppId}`;
  app.hookUrl = former;
  app.homepageUrl = 'https://former.example.test';
  expect(await as(owner).github.getAddresses(ref)).toMatchObject({
    webhook: { isForeign: true, atGithub: former },
    homepage: { isForeign: true, atGithub: 'https://former.example.test', expected: origin },
  });
  const { cookie: developer } = await api.signUp('Dora', 'developer');
  for (const call of ['getAddresses', 'updateWebhook'] as const)
    await expect(as(developer).github[call](ref)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(await as(owner).github.updateWebhook(ref)).toEqual(ref);
  expect(app.hookUrl).toBe(own.webhook.expected);
  expect((await as(owner).github.getAddresses(ref)).webhook.isForeign).toBe(false);
  const audited = await api.world.tenant(({ tx }) =>
    tx.auditEvent.findFirst({ where: { action: 'github.update_webhook', targetId: githubAppId } }),
  );
  expect(audited).toMatchObject({ before: { webhookUrl: former }, after: { webhookUrl: own.webhook.expected } });
  fake.state.faults.down = true;
  await expect(as(owner).github.getAddresses(ref)).rejects.toThrow('GitHub did not answer');
  expect(fake.state.problems).toEqual([]);
});

test('failures of GitHub are named, and base URLs that could get credentials are refused', async () => {
  const { fake, githubAppId } = await connected();
  fake.state.faults.down = true;
  await expect(as(owner).github.sync({ githubAppId })).rejects.toThrow('GitHub did not answer');
  fake.state.faults.down = false;
  fake.state.faults.rateLimit = { kind: 'secondary', remaining: 1, retryAfterSeconds: 5 };
  await expect(as(owner).github.sync({ githubAppId })).rejects.toThrow('limits the rate');
  fake.state.apps.length = 0;
  await expect(as(owner).github.sync({ githubAppId })).rejects.toThrow('deleted on GitHub');
  for (const baseUrl of [
    'http://github.example.com',
    'https://github.example.com/path',
    'https://a:b@github.example.com',
    'ftp://x',
  ])
    await expect(as(owner).github.startRegistration({ baseUrl }), baseUrl).rejects.toThrow();
});
