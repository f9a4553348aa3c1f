// Browser tests of a new app's build plan, which the real agent reads from a repository: shown, edited, and deployed as
// edited. Runs after product.spec.ts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePort } from '../../tools/lib/free-ports.ts';
import { type Repositories, type Repository, serveRepositories } from '../system/harness/repository.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const server = (word: string) =>
  `require('http').createServer((_, response) => response.end('${word}')).listen(process.env.PORT);`;

let page: Page;
let repositories: Repositories;
let shop: Repository;
let pressed: Repository;
let folder: string;

test.beforeAll(async ({ browser }) => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-plan-'));
  repositories = await serveRepositories(folder, await freePort());
  shop = await repositories.create('shop', {
    'web/package.json': JSON.stringify({ scripts: { start: 'node detected.js' }, engines: { node: '>=20' } }),
    'web/detected.js': server('detected'),
    'web/edited.js': server('edited'),
    'web/.env.example': 'GREETING=\nPORT=3000\n',
  });
  pressed = await repositories.create('pressed', {
    'package.json': JSON.stringify({ scripts: { start: 'node server.js' }, engines: { node: '>=20' } }),
    'server.js': server('pressed'),
  });
  page = await openSignedIn(browser);
});
test.afterAll(async () => {
  await page.context().close();
  await repositories.close();
  rmSync(folder, { recursive: true });
});

const plan = () => page.getByRole('region', { name: 'Build plan' });

test('a repository without an app in its root offers the folders that have one', async () => {
  await page.goto('/my-organization/apps/new');
  await page.getByLabel('Git repository').fill(shop.url);
  await page.keyboard.press('Tab');
  await expect(plan()).toContainText('There is no app in the repository itself');
  await checkAppearance(page);
  await plan().getByRole('button', { name: 'web', exact: true }).click();
  await expect(page.getByLabel('Root folder')).toHaveValue('web');
  await expect(plan()).toContainText('Node');
  await expect(plan()).toContainText('package.json (engines)');
  await expect(plan().getByLabel('Start command')).toHaveAttribute('placeholder', 'node detected.js');
});

test('an edited start command and a variable are deployed, and the rest stays detected', async () => {
  await plan().getByLabel('Start command').fill('node edited.js');
  await expect(plan()).toContainText('Detected: node detected.js');
  // Fairlead sets PORT itself.
  await expect(plan().getByLabel('PORT')).toHaveCount(0);
  await plan().getByLabel('GREETING').fill('hello');
  await checkAppearance(page);
  await page.getByLabel('Name', { exact: true }).fill('Planned');
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
  const dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const app = await dashboard.query<{ id: string; command: string[] }>('app.get', 'my-organization', {
    slug: 'planned',
  });
  expect(app.command).toEqual(['node', 'edited.js']);
  const { secrets } = await dashboard.query<{ secrets: { name: string }[] }>('secret.list', 'my-organization', {
    appId: app.id,
  });
  expect(secrets.map(({ name }) => name)).toEqual(['GREETING']);
});

test('a missing repository is reported, and the app can still be created', async () => {
  await page.goto('/my-organization/apps/new');
  await page.getByLabel('Git repository').fill(shop.url.replace('shop', 'absent'));
  await page.keyboard.press('Tab');
  await expect(plan()).toContainText('could not be cloned');
  await expect(plan().getByRole('button', { name: 'Detect again' })).toBeEnabled();
  await expect(page.getByRole('button', { name: 'Deploy', exact: true })).toBeEnabled();
});

test('Deploy takes the first press after the address was typed', async () => {
  await page.goto('/my-organization/apps/new');
  await page.getByLabel('Git repository').fill(pressed.url);
  const deploy = page.getByRole('button', { name: 'Deploy', exact: true });
  await deploy.hover();
  await page.mouse.down();
  // A hand takes longer than two frames: what a lost focus shows is there before the button is let go.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.mouse.up();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
});
