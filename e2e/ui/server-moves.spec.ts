// Browser tests of a move of an app with its volumes: the dialog says what is copied, the server's page follows the move, and
// a cancelled one brings the app back. Runs after product.spec.ts. The target is a fake agent that restores nothing.
import { createFakeAgent, type OpenFakeLink } from '@fairlead/testkit';
import { expect, type Page, test } from '@playwright/test';
import { ADA, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
let page: Page;
let ada: Dashboard;
let link: OpenFakeLink;
let appId: string;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
  const url = process.env.FAIRLEAD_E2E_URL ?? '';
  ada = await signIn(url, ADA);
  const { command } = await ada.call<{ command: string }>('server.enrol', { name: 'west' }, ORGANIZATION);
  const token = /FAIRLEAD_ENROL_TOKEN='([^']+)'/.exec(command)?.[1] ?? '';
  const script = await (await fetch(`${url}/install/agent.sh`)).text();
  const control = /control_url='http([^']+)'/.exec(script)?.[1] ?? '';
  const agent = createFakeAgent({ url: `ws${control}`, capabilities: ['uninstall', 'volume', 'volume.snapshot'] });
  const { serverId } = await agent.enrol(token);
  link = await agent.connect(serverId);
});
test.afterAll(async () => {
  await link.close();
  await page.context().close();
});

const setVolumes = (volumes: readonly object[]) =>
  ada.call('config.update', { appId, settings: { volumes } }, ORGANIZATION);

/** Deploys hello, and waits until it is live. */
async function deploy(): Promise<void> {
  const { deploymentId } = await ada.call<{ deploymentId: string }>('deployment.create', { appId }, ORGANIZATION);
  const isLive = async () =>
    (await ada.query<{ state: string }>('deployment.get', ORGANIZATION, { deploymentId })).state;
  await expect.poll(isLive, { timeout: 60_000 }).toBe('live');
}

test('a volume shows its snapshots', async () => {
  appId = (await ada.query<{ id: string }>('app.get', ORGANIZATION, { slug: 'hello' })).id;
  await setVolumes([{ name: 'notes', path: '/data', snapshots: 'hourly' }]);
  await deploy();
  await page.goto('/my-organization/apps/hello/storage');
  await expect(page.getByLabel('Snapshots')).toHaveValue('hourly');
  const volume = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: 'Snapshot now' }) });
  // The schedule takes the first snapshot at once.
  await expect(volume.getByText('packed', { exact: false })).toBeVisible({ timeout: 60_000 });
  await checkAppearance(page);
});

test('a move says what it copies, is followed on the page, and can be cancelled', async () => {
  await page.goto('/my-organization/servers');
  await page.getByRole('link', { name: 'local', exact: true }).click();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Drain server' }).click();
  const drain = page.getByRole('dialog', { name: 'Drain local' }).getByRole('button', { name: 'Drain server' });
  // It waits for the list of apps.
  await expect(drain).toBeEnabled();
  await drain.press('Enter');
  const note = page.getByRole('region', { name: 'Drain' });
  await note.getByRole('button', { name: 'Move apps' }).click();
  const dialog = page.getByRole('dialog', { name: 'Move apps from local' });
  await expect(dialog.getByText('notes')).toBeVisible();
  await expect(dialog.getByLabel('Copy volumes')).toBeChecked();
  await expect(dialog.getByText('is down while its volumes are copied', { exact: false })).toBeVisible();
  await dialog.getByLabel('Copy volumes').click();
  await expect(dialog.getByLabel('Leave data behind')).not.toBeChecked();
  await dialog.getByLabel('Copy volumes').click();
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Move apps' }).press('Enter');

  const move = page.getByRole('listitem').filter({ hasText: 'local → west' });
  await expect(move.getByText('Restoring')).toBeVisible({ timeout: 60_000 });
  await checkAppearance(page);
  await move.getByRole('button', { name: 'Cancel' }).press('Enter');
  await expect(move.getByText('The app stays on local.')).toBeVisible();
  await expect(move.getByRole('button', { name: 'Try again' })).toBeVisible();
  await note.getByRole('button', { name: 'End drain' }).press('Enter');
  await expect(note).toHaveCount(0);
});

test('the app is back with its settings from before', async () => {
  await setVolumes([]);
  await deploy();
  const { items } = await ada.query<{ items: { id: string; name: string }[] }>('server.list', ORGANIZATION);
  const west = items.find(({ name }) => name === 'west');
  await ada.call('server.delete', { serverId: west?.id, confirmName: 'west' }, ORGANIZATION);
});
