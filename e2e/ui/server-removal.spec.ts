// Browser tests of a server's removal: the guided way with an agent that answers, and the replacement of one that is lost.
// Runs after product.spec.ts. The agents are fake, and their servers are gone at the end.
import { create } from '@bufbuild/protobuf';
import { ReportSchema, WorkState } from '@fairlead/contract/agent';
import { createFakeAgent, type OpenFakeLink } from '@fairlead/testkit';
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

/** Adds a server with a fake agent, and opens its page. */
async function addServer(name: string): Promise<OpenFakeLink> {
  const url = process.env.FAIRLEAD_E2E_URL ?? '';
  const ada = await signIn(url, ADA);
  const { command } = await ada.call<{ command: string }>('server.enrol', { name }, 'my-organization');
  const token = /FAIRLEAD_ENROL_TOKEN='([^']+)'/.exec(command)?.[1] ?? '';
  const script = await (await fetch(`${url}/install/agent.sh`)).text();
  const control = /control_url='http([^']+)'/.exec(script)?.[1] ?? '';
  const agent = createFakeAgent({ url: `ws${control}`, capabilities: ['uninstall'] });
  const { serverId } = await agent.enrol(token);
  const link = await agent.connect(serverId);
  await page.goto(`/my-organization/servers/${serverId}`);
  await expect(page.getByRole('heading', { name, level: 1 })).toBeVisible();
  return link;
}

test('a removal leads through its steps, and the page closes when the agent is gone', async () => {
  const link = await addServer('spare');
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Remove server' }).click();
  const dialog = page.getByRole('dialog', { name: 'Remove spare' });
  await dialog.getByRole('button', { name: 'Drain server' }).click();
  await expect(dialog.getByLabel('Delete volumes too')).not.toBeChecked();
  const remove = dialog.getByRole('button', { name: 'Remove server' });
  await expect(remove).toBeDisabled();
  await checkAppearance(page);
  await dialog.getByLabel('Type spare to confirm').fill('spare');
  await remove.press('Enter');
  const note = page.getByRole('region', { name: 'Removal' });
  await expect(note.getByText('volumes stay on the machine', { exact: false })).toBeVisible();
  await checkAppearance(page);
  const uninstall = { state: WorkState.SUCCEEDED };
  link.send({ case: 'report', value: create(ReportSchema, { reportId: 1n, uninstall }) });
  await expect(page).toHaveURL(/\/servers$/);
  await expect(page.getByRole('link', { name: 'spare', exact: true })).toHaveCount(0);
  await link.close();
});

test('a failed removal shows its reason', async () => {
  const link = await addServer('stuck');
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Remove server' }).click();
  const dialog = page.getByRole('dialog', { name: 'Remove stuck' });
  await dialog.getByRole('button', { name: 'Drain server' }).click();
  await dialog.getByLabel('Type stuck to confirm').fill('stuck');
  await dialog.getByRole('button', { name: 'Remove server' }).press('Enter');
  const note = page.getByRole('region', { name: 'Removal' });
  await expect(note.getByRole('heading', { name: /^Removing/ })).toBeVisible();
  const failure = { code: 'uninstall.incomplete', message: 'Not everything could be removed: /srv/x.' };
  const uninstall = { state: WorkState.FAILED, failure };
  link.send({ case: 'report', value: create(ReportSchema, { reportId: 1n, uninstall }) });
  await expect(note.getByText('Not everything could be removed: /srv/x.')).toBeVisible();
  await checkAppearance(page);
  await link.close();
});

test('a lost server is replaced, and its page ends with the command for its machine', async () => {
  const note = page.getByRole('region', { name: 'Offline' });
  await note.getByRole('button', { name: 'Replace server' }).click();
  const dialog = page.getByRole('dialog', { name: 'Replace stuck' });
  await expect(dialog.getByRole('listitem').getByText('Remove stuck')).toBeVisible();
  await checkAppearance(page);
  await dialog.getByLabel('Type stuck to confirm').fill('stuck');
  await dialog.getByRole('button', { name: 'Remove server' }).press('Enter');
  const done = page.getByRole('dialog', { name: 'stuck is replaced' });
  await expect(done.getByText('fairlead-agent uninstall', { exact: true })).toBeVisible();
  await checkAppearance(page);
  await done.getByRole('button', { name: 'Close' }).last().click();
  await expect(page).toHaveURL(/\/servers$/);
});

test('a lost server can be replaced by another one or a new one', async () => {
  const link = await addServer('lost');
  await link.close();
  const note = page.getByRole('region', { name: 'Offline' });
  await note.getByRole('button', { name: 'Replace server' }).click();
  const dialog = page.getByRole('dialog', { name: 'Replace lost' });
  await expect(dialog.getByLabel('New server')).toHaveValue(/^srv_/);
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Add a new server' }).click();
  await expect(dialog.getByRole('button', { name: 'Create command' })).toBeVisible();
  await page.keyboard.press('Escape');
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const serverId = page.url().split('/').at(-1);
  await ada.call('server.delete', { serverId, confirmName: 'lost' }, 'my-organization');
});
