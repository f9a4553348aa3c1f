// Browser tests of the overview: true counts that lead to the filtered list, acknowledged entries, approvals, and the
// first-run checklist of a new organization.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { ADA, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openMember, openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
const HOME = `/${ORGANIZATION}`;
const REA = { name: 'Rea Example', email: 'rea@example.com', password: 'a lamp at the masthead' };
const BROKEN = ['broken-one', 'broken-two', 'broken-three'] as const;
const DEPLOYED = { timeout: 60_000 };

interface Overview {
  readonly attention: { readonly groups: readonly { readonly kind: string; readonly count: number }[] };
}
interface Hello {
  readonly id: string;
  readonly serverId: string;
  readonly repositoryUrl: string;
}

let owner: Page;
let ada: Dashboard;
let hello: Hello;
const brokenIds: string[] = [];

test.beforeAll(async ({ browser }) => {
  owner = await openSignedIn(browser);
  ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  hello = await ada.query<Hello>('app.get', ORGANIZATION, { slug: 'hello' });
  for (const name of BROKEN) {
    const source = { kind: 'git', repositoryUrl: hello.repositoryUrl, branch: 'no-such-branch' };
    const app = { name, source, serverIds: [hello.serverId], firstDeploy: 'deploy' };
    const { id } = await ada.call<{ id: string }>('app.create', app, ORGANIZATION);
    brokenIds.push(id);
  }
});
test.afterAll(async () => {
  for (const [index, appId] of brokenIds.entries()) {
    await ada.call('app.delete', { appId, confirmName: BROKEN[index] }, ORGANIZATION);
  }
  await owner.context().close();
});

const attention = () => owner.getByRole('region', { name: 'Needs attention' });
const failedGroup = () => attention().getByRole('button', { name: /^\d+ failed deployments$/ });
const titleOf = (name: string, number = 1) => `Deployment ${number} of ${name} to Production failed`;

async function countFailed(): Promise<number> {
  const { attention: all } = await ada.query<Overview>('overview.get', ORGANIZATION, {});
  return all.groups.find(({ kind }) => kind === 'deployment_failed')?.count ?? 0;
}

/** Waits until the deployment with that number of the broken app has failed. */
async function waitUntilFailed(appId: string, number: number): Promise<void> {
  const states = async () => {
    const list = await ada.query<{ items: { number: number; state: string }[] }>('deployment.list', ORGANIZATION, {
      appId,
    });
    return list.items.find((deployment) => deployment.number === number)?.state;
  };
  await expect.poll(states, DEPLOYED).toBe('failed');
}

test('failed deployments are counted truly, and the link leads to exactly those', async () => {
  for (const appId of brokenIds) await waitUntilFailed(appId, 1);
  const count = await countFailed();
  expect(count).toBeGreaterThanOrEqual(BROKEN.length);
  await owner.goto(HOME);
  await expect(failedGroup()).toHaveText(`${count} failed deployments`);
  await failedGroup().click();
  await expect(attention().getByRole('link', { name: titleOf('broken-three') })).toBeVisible();
  await checkAppearance(owner);
  await attention()
    .getByRole('link', { name: `Show all: ${count} failed deployments` })
    .click();
  await expect(owner).toHaveURL(/\/deployments\?attention=deployment_failed$/);
  const rows = owner.getByRole('main').locator('tbody tr');
  await expect(rows).toHaveCount(count);
  await expect(rows.filter({ hasText: 'Failed' })).toHaveCount(count);
  for (const name of BROKEN) await expect(rows.filter({ hasText: name })).toHaveCount(1);
  await checkAppearance(owner);
  await owner.getByRole('link', { name: 'Failed deployments. Remove filter' }).click();
  await expect(owner).toHaveURL(/\/deployments$/);
  await expect(rows.filter({ hasText: 'hello' }).first()).toBeVisible();
});

test('an acknowledged failure is hidden until the app fails again', async () => {
  const before = await countFailed();
  await owner.goto(HOME);
  await failedGroup().click();
  await attention()
    .getByRole('button', { name: `Acknowledge: ${titleOf('broken-one')}` })
    .click();
  await expect(failedGroup()).toHaveText(`${before - 1} failed deployments`);
  await attention().getByRole('button', { name: 'Show acknowledged (1)' }).click();
  const hidden = attention().getByRole('list', { name: 'Acknowledged' });
  await expect(hidden.getByRole('link', { name: titleOf('broken-one') })).toBeVisible();
  await checkAppearance(owner);

  const [appId = ''] = brokenIds;
  await ada.call('deployment.create', { appId }, ORGANIZATION);
  await waitUntilFailed(appId, 2);
  await expect(failedGroup()).toHaveText(`${before} failed deployments`);
  await expect(attention().getByRole('link', { name: titleOf('broken-one', 2) })).toBeVisible();
  await expect(attention().getByRole('button', { name: /acknowledged/ })).toHaveCount(0);
});

test('an approver finds the request on the overview, in the rail and in their mail', async ({ browser }) => {
  const environment = { kind: 'new', name: 'Reviewed', protected: true };
  const placement = { appId: hello.id, environment, serverIds: [hello.serverId], firstDeploy: 'none' };
  const { environmentId } = await ada.call<{ environmentId: string }>('app.addEnvironment', placement, ORGANIZATION);
  const developer = await openMember(browser, REA, 'developer');
  await developer.goto(`${HOME}/apps/hello?environment=${environmentId}`);
  await developer.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(developer).toHaveURL(/\/deployments\/dep_/);
  const id = /dep_\w+/.exec(developer.url())?.[0] ?? '';
  await developer.goto(HOME);
  await expect(developer.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
  await expect(developer.getByRole('link', { name: /^Approve deployment/ })).toHaveCount(0);

  await owner.goto(HOME);
  await expect(owner.getByRole('link', { name: 'Deployments 1 waits for your approval' })).toBeVisible();
  await owner.setViewportSize({ width: 390, height: 844 });
  const more = owner.getByRole('button', { name: 'More 1 waits for your approval' });
  await more.click();
  await expect(owner.getByRole('menuitem', { name: 'Deployments 1 waits for your approval' })).toBeVisible();
  await owner.keyboard.press('Escape');
  await checkAppearance(owner);
  const request = attention().getByRole('link', { name: /^Approve deployment \d+ of hello to Reviewed$/ });
  await expect(attention().getByText(`Requested by ${REA.name}.`)).toBeVisible();
  await expect.poll(() => findMail(id)).toContain(`${REA.name} requested deployment`);
  await request.click();
  await expect(owner).toHaveURL(new RegExp(id));
  await owner.getByRole('region', { name: 'Approval' }).getByRole('button', { name: 'Reject' }).click();
  await expect(owner.locator('header').first()).toContainText('Cancelled');
  const rail = owner.getByRole('navigation', { name: 'Main', exact: true });
  await expect(rail.getByRole('link', { name: 'Deployments', exact: true })).toBeVisible();
  await developer.context().close();
});

test('the checklist of a new organization ticks itself, and can be dismissed', async () => {
  const { slug } = await ada.call<{ slug: string }>('organization.create', { name: 'Fresh' });
  await owner.goto(`/${slug}`);
  const list = owner.getByRole('region', { name: 'Get started' });
  await expect(list).toContainText('0 of 4 done');
  await expect(owner.getByText('Nothing needs your attention.')).toBeVisible();
  const totals = owner.getByRole('region', { name: 'Last 24 hours' });
  await expect(totals.getByText('–', { exact: true })).toHaveCount(3);
  await checkAppearance(owner);
  await ada.call('invitation.create', { role: 'viewer' }, slug);
  // No event tells of an invitation: the page asks again by itself.
  await expect(list).toContainText('1 of 4 done');
  await expect(list.getByRole('link', { name: /^Invite a member +\(done\)$/ })).toBeVisible();
  await list.getByRole('link', { name: 'Deploy an app' }).click();
  await expect(owner).toHaveURL(/\/apps\/new$/);
  await owner.goto(`/${slug}`);
  await list.getByRole('button', { name: 'Dismiss checklist' }).click();
  await expect(list).toHaveCount(0);
  await owner.reload();
  await expect(owner.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
  await expect(list).toHaveCount(0);
});

/** Returns the text of the mail that links to the deployment; empty if none has arrived. */
function findMail(deploymentId: string): string {
  const folder = process.env.FAIRLEAD_E2E_MAILS ?? '';
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith('.eml'))
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('=\r\n', ''));
  return texts.find((text) => text.includes(deploymentId)) ?? '';
}
