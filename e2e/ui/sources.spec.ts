// Browser tests of new apps from every source: an uploaded folder, a repository with a deploy key, and an image that no
// server here can run. Runs after product.spec.ts.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { ROOT } from '../../tools/lib/command.ts';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const NEW_APP = '/my-organization/apps/new';
const DEPLOYED = { timeout: 60_000 };

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const source = (name: string) => page.getByRole('radio', { name, exact: true });
const head = () => page.locator('header').first();

test('arrow keys move between sources and skip those that no server supports', async () => {
  await page.goto(NEW_APP);
  await expect(page.getByLabel('Git repository')).toBeFocused();
  await source('Git over HTTPS').focus();
  await page.keyboard.press('ArrowRight');
  await expect(source('Git over SSH')).toBeChecked();
  await expect(source('Git over SSH')).toBeFocused();
  const image = source('Image');
  if (await image.isDisabled()) {
    await expect(image).toHaveAccessibleDescription('Needs Docker. No server here has it.');
  } else {
    await image.check();
    await expect(page.getByLabel('Image', { exact: true })).toBeVisible();
  }
});

test('name and domain follow the repository until they are typed', async () => {
  await page.goto(NEW_APP);
  await page.getByLabel('Git repository').fill('https://git.example.test/ada/Corner_Shop.git');
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Corner_Shop');
  await expect(page.getByLabel('Domain')).toHaveValue('corner-shop.localhost');
  await page.getByLabel('Domain').fill('');
  await page.getByLabel('Git repository').fill('https://git.example.test/ada/other.git');
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('other');
  await expect(page.getByLabel('Domain')).toHaveValue('');
});

test('a repository over ssh gets a deploy key with instructions', async () => {
  await page.goto(NEW_APP);
  await source('Git over SSH').check();
  await page.getByLabel('Git repository').fill('git@github.com:ada/private-shop.git');
  await page.getByRole('button', { name: 'Create deploy key' }).click();
  await expect(page.getByText(/^ssh-ed25519 /)).toBeVisible();
  await expect(page.getByRole('link', { name: /Open GitHub/ })).toHaveAttribute(
    'href',
    'https://github.com/ada/private-shop/settings/keys/new',
  );
  await checkAppearance(page);
  await page.getByRole('link', { name: 'Deploy later' }).click();
  // The app exists with its deploy key.
  await expect(page.getByLabel('Git repository')).toHaveValue('ssh://git@github.com/ada/private-shop.git');
  await expect(page.getByText(/^ssh-ed25519 /)).toBeVisible();
});

test('an app that is refused is not created, and its fields say why', async () => {
  await page.goto(NEW_APP);
  await page.getByLabel('Git repository').fill('https://git.example.test/ada/refused.git');
  await page.getByLabel('Domain').fill('hello.localhost');
  await page.getByText('Private repository', { exact: true }).click();
  await page.getByLabel('User name').fill('ada');
  await page.getByText('Private repository', { exact: true }).click();
  const deploy = page.getByRole('button', { name: 'Deploy', exact: true });
  await deploy.click();
  await expect(page.getByLabel('Password or token')).toHaveAccessibleDescription(/Enter the password or token\./);
  await page.getByLabel('Password or token').fill('hunter2');
  await deploy.click();
  await expect(page.getByLabel('Domain')).toHaveAccessibleDescription(/This host name or path is already in use\./);
  await checkAppearance(page);
  await page.getByLabel('Name', { exact: true }).fill('hello');
  await deploy.click();
  await expect(page.getByLabel('Name', { exact: true })).toHaveAccessibleDescription(
    /There is already an app with this name/,
  );
  const dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const { items } = await dashboard.query<{ items: { name: string }[] }>('app.list', 'my-organization', {});
  expect(items.map(({ name }) => name)).not.toContain('refused');
});

test('a local folder is packed, uploaded, built and live', async () => {
  await page.goto(NEW_APP);
  await source('Folder').check();
  await page.getByRole('button', { name: 'Upload and deploy' }).click();
  await expect(page.getByText('Choose the folder of the app, or a .tar.gz of it.')).toBeVisible();
  await page.getByLabel('Folder to upload').setInputFiles(join(ROOT, 'examples/hello-node'));
  await expect(page.getByText(/^hello-node: \d+ files/)).toBeVisible();
  await page.getByLabel('Name', { exact: true }).fill('hello');
  await page.getByRole('button', { name: 'Upload and deploy' }).click();
  await expect(page.getByText('There is already an app with this name', { exact: false })).toBeVisible();
  // The folder is uploaded already: a correction needs no second upload.
  const uploads: string[] = [];
  page.on('request', (request) => (request.url().includes('/deployment/upload') ? uploads.push(request.url()) : 0));
  await page.getByLabel('Name', { exact: true }).fill('Uploaded');
  await checkAppearance(page);
  await page.getByRole('button', { name: 'Upload and deploy' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  expect(uploads).toEqual([]);
  await expect(head()).toContainText('Live', DEPLOYED);
  await expect(page.getByRole('link', { name: /uploaded\.localhost/ }).first()).toBeVisible();
});

test('the next version is uploaded on the app’s own page', async () => {
  await page.goto('/my-organization/apps/uploaded');
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Upload a folder to Uploaded' });
  await expect(dialog.getByRole('button', { name: 'Upload and deploy' })).toBeDisabled();
  // Not an archive: the upload reports it, and nothing is deployed.
  await dialog
    .getByLabel('Archive to upload')
    .setInputFiles({ name: 'shop.tar.gz', mimeType: 'application/gzip', buffer: Buffer.from('no archive') });
  await dialog.getByRole('button', { name: 'Upload and deploy' }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await checkAppearance(page);
  await dialog.getByLabel('Folder to upload').setInputFiles(join(ROOT, 'examples/hello-node'));
  await dialog.getByRole('button', { name: 'Upload and deploy' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(head()).toContainText('Live', DEPLOYED);
});

test('an archive keeps which of its files are executable', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-modes-'));
  try {
    const files = {
      'package.json': JSON.stringify({ scripts: { start: './start.sh' }, engines: { node: '>=20' } }),
      'start.sh': '#!/bin/sh\n[ ! -x plain.sh ] && exec node server.js\n',
      'plain.sh': '',
      'server.js': "require('http').createServer((_, response) => response.end('modes')).listen(process.env.PORT);",
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    chmodSync(join(folder, 'start.sh'), 0o755);
    const archive = join(folder, 'modes.tar.gz');
    execFileSync('tar', ['-czf', archive, '-C', folder, ...Object.keys(files)]);
    await page.goto(NEW_APP);
    await source('Folder').check();
    await page.getByLabel('Archive to upload').setInputFiles(archive);
    await expect(page.getByLabel('Name', { exact: true })).toHaveValue('modes');
    await page.getByRole('button', { name: 'Upload and deploy' }).click();
    await expect(page).toHaveURL(/\/deployments\/dep_/);
    await expect(head()).toContainText('Live', DEPLOYED);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a large folder arrives complete from a page and with a token, and is refused from a cross-site page', async () => {
  const origin = process.env.FAIRLEAD_E2E_URL ?? '';
  const dashboard = await signIn(origin, ADA);
  const app = await dashboard.query<{ id: string }>('app.get', 'my-organization', { slug: 'uploaded' });
  const grant = { name: 'uploads', permissions: ['deployment.write'] };
  const { token } = await dashboard.call<{ token: string }>('token.create', grant, 'my-organization');
  // Starts as a gzip file does, which is all that is checked here, and exceeds the framework's body buffer.
  const data = Buffer.alloc(12 * 2 ** 20, 'folder');
  data.set([0x1f, 0x8b]);
  const sent = { digest: `sha256:${createHash('sha256').update(data).digest('hex')}`, sizeBytes: data.length };
  const fromPage = `/api/deployment/upload?organization=my-organization&appId=${app.id}`;
  const upload = (path: string, headers: Record<string, string>) =>
    page.request.post(path, { data, headers: { 'content-type': 'application/gzip', ...headers } });

  const own = await upload(fromPage, { origin });
  expect([own.status(), await own.json()]).toEqual([200, sent]);
  expect(own.headers()).toMatchObject({ 'x-content-type-options': 'nosniff' });
  const byToken = await upload(`/api/v1/deployment/upload?appId=${app.id}`, { authorization: `Bearer ${token}` });
  expect([byToken.status(), await byToken.json()]).toEqual([200, sent]);
  expect(byToken.headers()).toMatchObject({ 'x-content-type-options': 'nosniff' });
  expect((await upload(fromPage, { origin: 'https://evil.example' })).status()).toBe(403);
  expect((await upload(fromPage, { origin, 'sec-fetch-site': 'cross-site' })).status()).toBe(403);
});
