// Browser tests of an app's environment variables: plain ones and secrets in one table, .env paste, comparison of and
// copy between environments, and deployment. Runs after product.spec.ts, with an app of its own.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePort } from '../../tools/lib/free-ports.ts';
import { type Repositories, serveRepositories } from '../system/harness/repository.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
const HOST = 'harbour.localhost';
const VARIABLES = `/${ORGANIZATION}/apps/harbour/variables`;
const DEPLOYED = { timeout: 60_000 };
const SECRET = 'a token for the app alone';

let page: Page;
let repositories: Repositories;
let folder: string;

test.beforeAll(async ({ browser }) => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-variables-'));
  repositories = await serveRepositories(folder, await freePort());
  const { url } = await repositories.create('harbour', {
    'package.json': JSON.stringify({ scripts: { start: 'node server.js' }, engines: { node: '>=20' } }),
    'server.js':
      "const { LOG_LEVEL, API_TOKEN } = process.env; require('http').createServer((_, response) => " +
      'response.end(JSON.stringify({ LOG_LEVEL, API_TOKEN }))).listen(process.env.PORT);',
  });
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const { items } = await ada.query<{ items: { id: string; isLocal?: boolean }[] }>('server.list', ORGANIZATION);
  const serverIds = items.slice(0, 1).map(({ id }) => id);
  const source = { kind: 'git', repositoryUrl: url };
  const app = { name: 'harbour', source, serverIds, domain: { host: HOST }, firstDeploy: 'deploy' };
  const { id: appId } = await ada.call<{ id: string }>('app.create', app, ORGANIZATION);
  const environment = { kind: 'new', name: 'Quay' };
  await ada.call('app.addEnvironment', { appId, environment, serverIds, firstDeploy: 'none' }, ORGANIZATION);
  page = await openSignedIn(browser);
  await page.goto(`/${ORGANIZATION}/apps/harbour`);
  await expect(page.locator('header').first()).toContainText('Live', DEPLOYED);
});
test.afterAll(async () => {
  await page.context().close();
  await repositories.close();
  rmSync(folder, { recursive: true });
});

const dialog = (name: string) => page.getByRole('dialog', { name });
const rowOf = (name: string) => page.getByRole('row').filter({ has: page.getByTitle(name, { exact: true }) });
const nameOf = (name: string) => page.getByRole('button', { name, exact: true });

async function choose(name: string, item: string): Promise<void> {
  const entry = page.getByRole('menuitem', { name: item, exact: true });
  // A dialog that just closed restores focus, which closes a menu that was opened meanwhile.
  await expect(async () => {
    if (!(await entry.isVisible())) await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await entry.click({ timeout: 2_000 });
  }).toPass();
}

/** Returns the variables with which the app answers a visitor. */
async function observed(): Promise<unknown> {
  const { FAIRLEAD_E2E_HTTPS_PORT: port, FAIRLEAD_E2E_CA: ca } = process.env;
  const answer = await new Promise<string>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername: HOST, headers: { host: HOST }, ca: readFileSync(ca ?? '') };
    request(options, (response) => void text(response).then(resolve, reject))
      .on('error', reject)
      .end();
  });
  return JSON.parse(answer);
}

test('a plain variable is added, and waits for a deployment', async () => {
  await page.goto(VARIABLES);
  await expect(page.getByText('No environment variables yet')).toBeVisible();
  await checkAppearance(page);
  await page.getByRole('button', { name: 'Add variable' }).click();
  const add = dialog('Add variable');
  await add.getByLabel('Name').fill('PORT');
  await expect(add.getByText('Fairlead sets this variable itself.')).toBeVisible();
  await add.getByLabel('Name').fill('LOG_LEVEL');
  await expect(add.getByRole('button', { name: 'Plain', exact: true })).toHaveAttribute('aria-pressed', 'true');
  await add.getByRole('textbox', { name: 'Value' }).fill('debug');
  await add.getByLabel('Scope').selectOption('Run only');
  await checkAppearance(page);
  await add.getByRole('button', { name: 'Save' }).click();
  await expect(add).toBeHidden();
  for (const part of ['Plain', 'debug', 'Run only', 'This app', 'Ada Example', 'Deploy to apply']) {
    await expect(rowOf('LOG_LEVEL')).toContainText(part);
  }
});

test('a secret is added: its name preselects the kind, and its value stays hidden', async () => {
  await page.getByRole('button', { name: 'Add variable' }).click();
  const add = dialog('Add variable');
  await add.getByLabel('Name').fill('API_TOKEN');
  await expect(add.getByRole('button', { name: 'Secret', exact: true })).toHaveAttribute('aria-pressed', 'true');
  await add.getByRole('textbox', { name: 'Value' }).fill(SECRET);
  await checkAppearance(page);
  await add.getByRole('button', { name: 'Save' }).click();
  await expect(rowOf('API_TOKEN')).toContainText('Secret');
  await expect(rowOf('API_TOKEN').getByRole('img', { name: 'Hidden value' })).toBeVisible();
  await page.reload();
  await expect(rowOf('API_TOKEN')).toBeVisible();
  expect(await page.content()).not.toContain(SECRET);
});

test('a pasted .env shows errors by line and what it changes, with plain or secret for each line', async () => {
  await page.getByRole('button', { name: 'Paste .env', exact: true }).click();
  const paste = dialog('Paste .env');
  const content = paste.getByRole('textbox');
  await content.fill('REGION=north\nno equals here\nPORT=1');
  await expect(paste.getByText('Line 2: This is not NAME=value.')).toBeVisible();
  await expect(paste.getByText('Line 3: Fairlead sets this variable itself.')).toBeVisible();
  await expect(paste.getByRole('button', { name: 'Save 1 variable' })).toBeDisabled();
  await content.fill('LOG_LEVEL=info\nREGION=north\nDB_PASSWORD=x\nMAP_KEY=public\nnode_flag=on');
  const line = (name: string) => paste.getByRole('listitem').filter({ has: page.getByTitle(name, { exact: true }) });
  await expect(line('LOG_LEVEL')).toContainText('changed');
  await expect(line('REGION')).toContainText('new');
  await expect(paste.getByLabel('Kind of REGION')).toHaveValue('plain');
  await expect(paste.getByLabel('Kind of DB_PASSWORD')).toHaveValue('secret');
  await expect(paste.getByLabel('Kind of MAP_KEY')).toHaveValue('secret');
  await paste.getByLabel('Kind of MAP_KEY').selectOption('Plain');
  await paste.getByLabel('Kind of node_flag').selectOption('Secret');
  await expect(paste.getByText('Line 5: A name has capital letters', { exact: false })).toBeVisible();
  await paste.getByLabel('Kind of node_flag').selectOption('Plain');
  await checkAppearance(page);
  await paste.getByRole('button', { name: 'Save 5 variables' }).click();
  await expect(page.getByText('4 added, 1 changed')).toBeVisible();
  await expect(rowOf('DB_PASSWORD')).toContainText('sealed');
  await expect(rowOf('MAP_KEY')).toContainText('Plain');
  await expect(rowOf('LOG_LEVEL')).toContainText('info');
  await expect(rowOf('LOG_LEVEL')).toContainText('Run only');
  await checkAppearance(page);
});

test('rows are searched, walked by keyboard and edited', async () => {
  await page.keyboard.press('/');
  await page.keyboard.type('north');
  await expect(rowOf('REGION')).toBeVisible();
  await expect(rowOf('LOG_LEVEL')).toHaveCount(0);
  await page.getByLabel('Search variables').fill('nothing');
  await expect(page.getByText('No variable matches “nothing”')).toBeVisible();
  await page.getByLabel('Search variables').fill('');
  await nameOf('LOG_LEVEL').focus();
  await page.keyboard.press('ArrowDown');
  await expect(nameOf('MAP_KEY')).toBeFocused();
  await page.keyboard.press('Enter');
  const change = dialog('Change MAP_KEY');
  await change.getByRole('textbox', { name: 'Value' }).fill('other');
  await change.getByRole('button', { name: 'Save' }).click();
  await expect(rowOf('MAP_KEY')).toContainText('other');
});

test('a plain variable is deleted at once and restored, and becomes a secret in one step', async () => {
  await choose('node_flag', 'Delete');
  await expect(rowOf('node_flag')).toHaveCount(0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(rowOf('node_flag')).toBeVisible();
  await choose('MAP_KEY', 'Make secret');
  const change = dialog('Change MAP_KEY');
  await expect(change.getByText('The plain value is deleted from the settings.', { exact: false })).toBeVisible();
  await checkAppearance(page);
  await change.getByRole('button', { name: 'Save' }).click();
  await expect(rowOf('MAP_KEY')).toHaveCount(1);
  await expect(rowOf('MAP_KEY')).toContainText('Secret');
});

test('variables are copied to another environment, and the two are compared', async () => {
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  const compare = dialog('Compare environments');
  await compare.getByLabel('To', { exact: true }).selectOption('Quay');
  await expect(compare.getByLabel('From', { exact: true }).locator('option:checked')).toHaveText('Production');
  const difference = (name: string) => compare.getByRole('listitem').filter({ hasText: name });
  await expect(difference('REGION')).toContainText('Only in Production');
  await compare.getByRole('checkbox', { name: 'node_flag' }).uncheck();
  await checkAppearance(page);
  await compare.getByRole('button', { name: 'Copy 5 variables to Quay' }).click();
  await expect(page.getByText('Copied to Quay: 5 added')).toBeVisible();

  await page.getByRole('button', { name: 'Environment: Production' }).click();
  await page.getByRole('menuitemradio', { name: 'Quay' }).click();
  await expect(rowOf('REGION')).toContainText('north');
  await expect(rowOf('API_TOKEN')).toContainText('sealed');
  await expect(rowOf('node_flag')).toHaveCount(0);
  await nameOf('REGION').click();
  await dialog('Change REGION').getByRole('textbox', { name: 'Value' }).fill('south');
  await dialog('Change REGION').getByRole('button', { name: 'Save' }).click();
  await expect(rowOf('REGION')).toContainText('south');

  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await expect(difference('REGION')).toContainText('Different');
  for (const part of ['Production', 'north', 'Quay', 'south']) await expect(difference('REGION')).toContainText(part);
  await expect(difference('API_TOKEN')).toContainText('Secret in both');
  await expect(compare.getByText('1 plain variable is the same.')).toBeVisible();
  await checkAppearance(page);
  await compare.getByRole('button', { name: 'Close' }).last().click();
});

test('a deployment applies the changes, and later ones of secrets alone need no build', async () => {
  await page.goto(VARIABLES);
  await expect(page.getByText('6 changes are not live yet')).toBeVisible();
  expect(await observed()).toEqual({});
  await page.getByRole('button', { name: 'Deploy changes' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', DEPLOYED);
  await expect.poll(observed).toEqual({ LOG_LEVEL: 'info', API_TOKEN: SECRET });
  await page.goto(VARIABLES);
  await expect(rowOf('LOG_LEVEL')).toBeVisible();
  await expect(page.getByText('not live yet')).toHaveCount(0);
  await expect(page.getByText('Deploy to apply')).toHaveCount(0);
  await nameOf('API_TOKEN').click();
  await dialog('Change API_TOKEN').getByRole('textbox', { name: 'New value' }).fill('another token');
  await dialog('Change API_TOKEN').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Apply now' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', DEPLOYED);
  await expect.poll(observed).toEqual({ LOG_LEVEL: 'info', API_TOKEN: 'another token' });
});
