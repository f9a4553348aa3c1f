// Browser tests of deployments that fail or wait: failing lines, advice, retry, the app's page, and the queue of builds. Ends with
// the log of an app. Runs after product.spec.ts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { ADA, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePort } from '../../tools/lib/free-ports.ts';
import { type Repositories, type Repository, serveRepositories } from '../system/harness/repository.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
const ENDED = { timeout: 60_000 };
const ENGINES = { node: '>=20' };
const SHOWN_ERROR = "Error: Cannot find module './cart'";

/** Writes what npm and Node write: warnings on stderr, and an error in the middle. */
const BUILD = `
console.error('npm warn Unknown env config "tmp". This will stop working in the next major version of npm.');
console.log('\\u001b[32mtransforming\\u001b[39m 12 modules');
console.error("${SHOWN_ERROR}");
console.error('Require stack:');
console.error('- /build/src/main.js');
process.exit(1);
`;
/** Listens on no port: on servers where apps have own networks, any port would do. */
const SILENT = `
console.log('\\u001b[36mready\\u001b[39m');
setInterval(() => {}, 1000);
`;
const TALKER = `
const say = (level, msg, fields) => console.log(JSON.stringify({ level, msg, ...fields }));
for (let at = 0; at < 40; at += 1) say('info', 'served', { status: 200, path: '/' + at });
say('error', 'payment failed', { status: 500, path: '/pay' });
console.log('\\u001b[35mplain\\u001b[39m line');
require('http').createServer((request, response) => {
  if (request.url === '/say') say('warn', 'asked', { status: 418, path: request.url });
  response.end('hello');
}).listen(process.env.PORT);
`;

let page: Page;
let dashboard: Dashboard;
let repositories: Repositories;
let folder: string;
/** Apps of these tests: ids by name. */
const created = new Map<string, string>();

test.beforeAll(async ({ browser }) => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-failure-'));
  repositories = await serveRepositories(folder, await freePort());
  dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  page = await openSignedIn(browser);
});
test.afterAll(async () => {
  await page.context().close();
  // A later test moves every app of the server.
  for (const [name, appId] of created) await dashboard.call('app.delete', { appId, confirmName: name }, ORGANIZATION);
  await repositories.close();
  rmSync(folder, { recursive: true });
});

const head = () => page.locator('header').first();
const failure = () => page.getByRole('alert').filter({ hasText: 'The deployment failed' });
const log = () => page.getByRole('region', { name: 'Log', exact: true });
const heading = (name: string) => page.getByRole('heading', { level: 1, name });

const nodeApp = (files: Record<string, string>, build?: string) => ({
  'package.json': JSON.stringify({
    scripts: { ...(build === undefined ? {} : { build }), start: 'node server.js' },
    engines: ENGINES,
  }),
  'server.js': "require('http').createServer((_, response) => response.end('ok')).listen(process.env.PORT);",
  ...files,
});

/** Creates the app with a first deployment, and opens its page. */
async function deploy(name: string, { url }: Repository, settings: object = {}): Promise<string> {
  const { items } = await dashboard.query<{ items: { id: string; isLocal: boolean }[] }>(
    'server.list',
    ORGANIZATION,
    {},
  );
  const local = items.find(({ isLocal }) => isLocal);
  const { id, deploymentId } = await dashboard.call<{ id: string; deploymentId: string }>(
    'app.create',
    { name, source: { kind: 'git', repositoryUrl: url }, serverIds: [local?.id], settings },
    ORGANIZATION,
  );
  created.set(name, id);
  await page.goto(`/${ORGANIZATION}/deployments/${deploymentId}`);
  return deploymentId;
}

test('a failed build leads with its failing lines and the advice', async () => {
  const repository = await repositories.create('broken', nodeApp({ 'build.js': BUILD }, 'node build.js'));
  await deploy('broken', repository);
  await expect(head()).toContainText('Failed', ENDED);
  await expect(failure()).toContainText('No release was live before.');
  await expect(failure()).not.toContainText('Live traffic is unaffected');
  const lines = failure().getByRole('list', { name: 'Failing lines' });
  await expect(lines.getByRole('listitem').filter({ hasText: SHOWN_ERROR })).toBeVisible();
  await expect(lines).toContainText('- /build/src/main.js');
  // The document has them too, so nothing moves once the log is read.
  expect(await (await page.request.get(page.url())).text()).toContain('- /build/src/main.js');
  await expect(page.getByRole('list', { name: 'Steps' })).not.toContainText('Drain old release');
  await checkAppearance(page);
});

test('the log jumps to the error, and only errors are red', async () => {
  await log().getByRole('button', { name: 'Jump to error' }).click();
  const red = log().locator('[data-level="error"]');
  await expect(red.filter({ hasText: SHOWN_ERROR })).toBeInViewport();
  await expect(red.filter({ hasText: 'npm warn' })).toHaveCount(0);
  await expect(log().locator('time').first()).toHaveAttribute('title', / UTC$/);
});

test('a colored line of a build keeps its color and is found as plain text', async () => {
  await log().getByRole('searchbox', { name: 'Search the log' }).fill('transforming 12');
  await expect(log()).toContainText('1 of 1');
  await expect(log().locator('mark')).toHaveText(['transforming', ' 12']);
  await log().getByRole('searchbox', { name: 'Search the log' }).fill('12 modules');
  await expect(log().getByText('transforming', { exact: true })).toHaveClass(/text-ok-text/);
});

test('the app’s page says why it failed, in the same words', async () => {
  const reason = (await failure().locator('p').first().textContent()) ?? '';
  await page.goto(`/${ORGANIZATION}/apps/broken`);
  const note = page.getByRole('region', { name: 'Last deployment' });
  await expect(note).toContainText('Deployment #1 failed');
  await expect(note).toContainText(reason);
  await note.getByRole('link', { name: 'View deployment' }).click();
  await expect(heading('Deployment #1')).toBeVisible();
});

test('a retry is one press away', async () => {
  await failure().getByRole('button', { name: 'Retry' }).click();
  await expect(heading('Deployment #2')).toBeVisible();
  await expect(head()).toContainText('Failed', ENDED);
  await expect(failure()).toContainText(SHOWN_ERROR);
});

test('an app that does not listen on its port says so and leads to the setting', async () => {
  const repository = await repositories.create('silent', nodeApp({ 'server.js': SILENT }));
  await deploy('silent', repository, { startTimeoutMs: 5000 });
  await expect(head()).toContainText('Failed', ENDED);
  await expect(failure()).toContainText("didn't listen on port");
  await expect(failure().getByRole('button', { name: 'Retry' })).toBeVisible();
  await failure().getByRole('link', { name: 'Open runtime settings' }).click();
  await expect(page).toHaveURL(/\/settings\/runtime(\?|$)/);
  await expect(page.getByRole('heading', { name: 'Process', exact: true })).toBeVisible();
});

test('a build that waits is queued and names the builds ahead', async () => {
  const clones = Promise.withResolvers<void>();
  repositories.holdClones(() => clones.promise);
  try {
    await deploy('first', await repositories.create('first', nodeApp({})));
    await expect(head()).toContainText('Building', ENDED);
    const second = await deploy('second', await repositories.create('second', nodeApp({})));
    await expect(page.getByText('Queued · 1 build ahead: first #1')).toBeVisible(ENDED);
    await expect(head()).toContainText('Queued');
    await checkAppearance(page);
    repositories.holdClones(undefined);
    clones.resolve();
    await expect(page.getByText('Queued · 1 build ahead', { exact: false })).toBeHidden(ENDED);
    await expect(head()).toContainText('Live', ENDED);
    const { steps, durationMs } = await dashboard.query<{
      steps: { name: string; durationMs: number | null }[];
      durationMs: number;
    }>('deployment.get', ORGANIZATION, { deploymentId: second });
    expect(steps.reduce((sum, step) => sum + (step.durationMs ?? 0), 0)).toBe(durationMs);
  } finally {
    repositories.holdClones(undefined);
    clones.resolve();
  }
});

test('an app’s log is live and filtered in one view', async () => {
  await deploy('talker', await repositories.create('talker', nodeApp({ 'server.js': TALKER })));
  await expect(head()).toContainText('Live', ENDED);
  await page.goto(`/${ORGANIZATION}/apps/talker/logs`);
  const row = (text: string) => log().locator('[data-index]').filter({ hasText: text });
  await expect(row('plain line')).toBeVisible(ENDED);
  await expect(log()).toContainText('Live');
  await expect(row('payment failed').locator('[data-level="error"]')).toBeVisible();
  await expect(log().getByText('plain', { exact: true })).toHaveClass(/text-ansi-magenta/);
  await expect(log().locator('time').first()).toHaveAttribute('title', / UTC$/);
  await expect(log().getByRole('img', { name: / over time, 1 error$/ })).toBeVisible();
  await checkAppearance(page);

  await page.getByRole('combobox', { name: 'Field' }).selectOption({ label: '500 (1)' });
  await expect(page).toHaveURL(/fields=/);
  await expect(row('payment failed')).toBeVisible();
  await expect(row('served')).toHaveCount(0);
  await row('payment failed').getByRole('link', { name: 'Show in context' }).click();
  await expect(page).toHaveURL(/[?&]at=T\d+\.\d+/);
  await expect(row('payment failed').locator('[data-level="error"]')).toHaveClass(/bg-accent-wash/);
  await expect(row('plain line')).toBeVisible();
  await page.reload();
  await expect(row('payment failed')).toBeInViewport();
  await page.getByRole('button', { name: 'Back to newest lines' }).click();
  await expect(log()).toContainText('Live');

  await page.getByRole('searchbox', { name: 'Search log' }).fill('payment');
  await expect(log().locator('mark')).toHaveText('payment');
  await expect(row('plain line')).toHaveCount(0);
});
