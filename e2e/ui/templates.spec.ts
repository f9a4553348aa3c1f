// Browser tests of new apps with as few decisions as possible: a template, and the pasted URL of a repository. Runs after
// product.spec.ts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePort } from '../../tools/lib/free-ports.ts';
import { type Repositories, serveRepositories } from '../system/harness/repository.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const NEW_APP = '/my-organization/apps/new';
const DEPLOYED = { timeout: 60_000 };

let page: Page;
let repositories: Repositories;
let folder: string;

test.beforeAll(async ({ browser }) => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-templates-'));
  repositories = await serveRepositories(folder, await freePort());
  page = await openSignedIn(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
});
test.afterAll(async () => {
  await page.context().close();
  await repositories.close();
  rmSync(folder, { recursive: true });
});

const field = (label: string) => page.getByLabel(label, { exact: true });
const choice = (name: string) => page.getByRole('radio', { name, exact: true });
const deploy = () => page.getByRole('button', { name: 'Deploy', exact: true });

async function expectLive(): Promise<void> {
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', DEPLOYED);
}

test('a template is live after two decisions: the template, and Deploy', async () => {
  await page.goto(`${NEW_APP}?source=template`);
  await choice('Node.js').check();
  await expect(field('Name')).toHaveValue('hello-node');
  await expect(field('Server')).toHaveValue(/^srv_/);
  await expect(field('Domain')).toHaveValue('hello-node.localhost');
  await deploy().click();
  await expectLive();
  await expect(page.getByRole('link', { name: /hello-node\.localhost/ }).first()).toBeVisible();
});

test('a second app from the same template gets the next free name and domain', async () => {
  await page.goto(`${NEW_APP}?source=template`);
  await choice('Node.js').check();
  await expect(field('Name')).toHaveValue('hello-node-2');
  await expect(field('Domain')).toHaveValue('hello-node-2.localhost');
});

test('the app names its template, and how to replace it', async () => {
  await page.goto('/my-organization/apps/hello-node');
  await expect(page.getByText('To deploy your own code, press Upload', { exact: false })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Upload', exact: true })).toBeVisible();
  await checkAppearance(page);
  await page.getByRole('link', { name: 'Source & build' }).click();
  await expect(page.getByLabel('Git repository')).toHaveAccessibleDescription(/this app is the Node\.js template/);
});

test('templates are chosen with the keyboard, and Deploy asks for one', async () => {
  await page.goto(NEW_APP);
  await choice('Template').check();
  await deploy().click();
  await expect(page.getByText('Choose a template.')).toBeVisible();
  await choice('Next.js').focus();
  await page.keyboard.press('ArrowRight');
  await expect(choice('Express')).toBeChecked();
  await expect(page.getByText('Choose a template.')).toHaveCount(0);
  await expect(field('Name')).toHaveValue('hello-express');
  const container = choice('Dockerfile');
  if (await container.isDisabled()) {
    await expect(container).toHaveAccessibleDescription(/Needs Docker\. No server here has it\./);
  } else {
    await container.check();
    await expect(field('Name')).toHaveValue('hello-dockerfile');
  }
  await checkAppearance(page);
});

test('a repository is live after two decisions: its pasted URL, and Deploy', async () => {
  const { url } = await repositories.createExample('pasted-shop', 'hello-node');
  await page.goto(NEW_APP);
  await expect(page.getByLabel('Git repository')).toBeFocused();
  await page.evaluate((text) => navigator.clipboard.writeText(text), url);
  await page.keyboard.press('ControlOrMeta+V');
  const plan = page.getByRole('region', { name: 'Build plan' });
  await expect(plan.getByLabel('Start command')).toHaveAttribute('placeholder', 'node server.js');
  await expect(field('Name')).toHaveValue('pasted-shop');
  await expect(field('Branch')).toHaveAttribute('placeholder', 'main');
  await expect(field('Server')).toHaveValue(/^srv_/);
  await expect(field('Domain')).toHaveValue('pasted-shop.localhost');
  await deploy().click();
  await expectLive();
  const dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const app = await dashboard.query('app.get', 'my-organization', { slug: 'pasted-shop' });
  expect(app).toMatchObject({ repositoryUrl: url, template: null, status: 'healthy' });
});
