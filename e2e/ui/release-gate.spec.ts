// Browser test of a benchmark gate: its threshold relative to the live release in the settings, and the card of a deployment that
// misses it. Runs after product.spec.ts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { ADA, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePort } from '../../tools/lib/free-ports.ts';
import { respondingApp } from '../system/harness/apps.ts';
import { type Repositories, serveRepositories } from '../system/harness/repository.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

const ORGANIZATION = 'my-organization';
const ENDED = { timeout: 60_000 };

let page: Page;
let dashboard: Dashboard;
let repositories: Repositories;
let folder: string;
let appId: string | undefined;

test.beforeAll(async ({ browser }) => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-gate-'));
  repositories = await serveRepositories(folder, await freePort());
  dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  page = await openSignedIn(browser);
});
test.afterAll(async () => {
  await page.context().close();
  // A later test moves every app of the server.
  if (appId !== undefined) await dashboard.call('app.delete', { appId, confirmName: 'measured' }, ORGANIZATION);
  await repositories.close();
  rmSync(folder, { recursive: true });
});

test('a gate compares with the live release, and its card shows both and the missed ratio', async () => {
  const { url } = await repositories.create('measured', respondingApp('hello'));
  const servers = await dashboard.query<{ items: { id: string; isLocal: boolean }[] }>('server.list', ORGANIZATION, {});
  const local = servers.items.find(({ isLocal }) => isLocal);
  const created = await dashboard.call<{ id: string; deploymentId: string }>(
    'app.create',
    { name: 'measured', source: { kind: 'git', repositoryUrl: url }, serverIds: [local?.id] },
    ORGANIZATION,
  );
  appId = created.id;
  await page.goto(`/${ORGANIZATION}/deployments/${created.deploymentId}`);
  await expect(page.locator('header').first()).toContainText('Live', ENDED);

  await page.goto(`/${ORGANIZATION}/apps/measured/settings/deploys`);
  await page.getByLabel('Benchmark gate').check();
  await page.getByLabel('Seconds per round').fill('0.5');
  await page.getByRole('button', { name: 'Add threshold' }).click();
  await page.getByLabel('Metric').selectOption('p50_ms');
  await page.getByLabel('Compared with').selectOption('Live release');
  await page.getByLabel('Ratio').fill('0.001');
  await checkAppearance(page);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('1 setting is not live yet')).toBeVisible();

  const { deploymentId } = await dashboard.call<{ deploymentId: string }>('deployment.create', { appId }, ORGANIZATION);
  await page.goto(`/${ORGANIZATION}/deployments/${deploymentId}`);
  await expect(page.locator('header').first()).toContainText('Failed', ENDED);
  const card = page
    .locator('section, div')
    .filter({ has: page.getByRole('heading', { name: 'Benchmark gate' }) })
    .last();
  await expect(page.getByText('Round 3, live')).toBeVisible();
  await expect(page.getByText('p50 at most 0.001 × live')).toBeVisible();
  await expect(page.getByText(/^\d+\.\d\d × \(\d+\.\d\d to \d+\.\d\d\)/)).toBeVisible();
  await expect(card).toContainText('Failed');
  await checkAppearance(page);
});
