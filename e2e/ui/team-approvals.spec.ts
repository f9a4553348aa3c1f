// Browser tests of a protected environment: a developer asks for a deployment, and the owner approves or refuses it.
// Runs after staging.spec.ts, which leaves an app in one environment.
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openMember, openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
const KIM = { name: 'Kim Example', email: 'kim@example.com', password: 'a bell counts the watches' };

let owner: Page;
let developer: Page;
let app = '';

test.beforeAll(async ({ browser }) => {
  owner = await openSignedIn(browser);
  developer = await openMember(browser, KIM, 'developer');
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const hello = await ada.query<{ id: string; serverId: string }>('app.get', ORGANIZATION, { slug: 'hello' });
  const environment = { kind: 'new', name: 'Guarded', protected: true };
  const placement = { appId: hello.id, environment, serverIds: [hello.serverId], firstDeploy: 'none' };
  const { environmentId } = await ada.call<{ environmentId: string }>('app.addEnvironment', placement, ORGANIZATION);
  app = `/${ORGANIZATION}/apps/hello?environment=${environmentId}`;
});
test.afterAll(async () => {
  await owner.context().close();
  await developer.context().close();
});

const approval = (page: Page) => page.getByRole('region', { name: 'Approval' });
const head = (page: Page) => page.locator('header').first();
const fact = (page: Page, term: string) =>
  page.locator('dl > div').filter({ has: page.getByText(term, { exact: true }) });

/** Asks for a deployment as the developer, and opens it as the owner. */
async function request(): Promise<void> {
  await developer.goto(app);
  await developer.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(developer).toHaveURL(/\/deployments\/dep_/);
  await expect(head(developer)).toContainText('Waiting for approval');
  await owner.goto(app);
  const note = owner.getByRole('region', { name: 'Reason it is not live' });
  await expect(note).toContainText("Waiting for another member's approval.");
  await note.getByRole('link', { name: 'View deployment' }).click();
  await expect(approval(owner)).toContainText(`${KIM.name} requested to deploy`);
}

test('a developer sees that the environment is protected, and why their deployment waits', async () => {
  await developer.goto(app);
  await expect(developer.getByText('Guarded is protected.')).toBeVisible();
  await expect(developer.getByText('You can request deployments.')).toBeVisible();
  await request();
  await expect(approval(developer)).toContainText('You requested this deployment');
  await expect(approval(developer).getByRole('button')).toHaveCount(0);
});

test('the owner approves it, and both see it go live', async () => {
  await checkAppearance(owner);
  await approval(owner).getByRole('button', { name: 'Approve' }).click();
  await expect(approval(owner)).toHaveCount(0);
  await expect(head(owner)).toContainText('Live', { timeout: 60_000 });
  // Without a reload: the page of the developer is live, too.
  await expect(head(developer)).toContainText('Live');
  await expect(fact(developer, 'Approved')).toContainText(`by ${ADA.name}`);
});

test('the owner refuses the next one, and its page says who did', async () => {
  await request();
  await approval(owner).getByRole('button', { name: 'Reject' }).click();
  await expect(head(owner)).toContainText('Cancelled');
  await expect(head(developer)).toContainText('Cancelled');
  await expect(fact(developer, 'Rejected')).toContainText(`by ${ADA.name}`);
  await developer.goto(app);
  await expect(head(developer)).toContainText('Live');
});

test('members cannot approve their own deployments', async () => {
  await owner.goto(app);
  await owner.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(approval(owner)).toContainText('You requested this deployment');
  await expect(approval(owner).getByRole('button')).toHaveCount(0);
  await owner.getByRole('button', { name: 'Cancel', exact: true }).click();
  await expect(head(owner)).toContainText('Cancelled');
});
