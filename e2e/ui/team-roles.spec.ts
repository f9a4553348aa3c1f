// Browser tests of the role matrix and of grants: what an owner changes there, a member may do at once, and no more.
// Runs after product.spec.ts, which leaves an app.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openMember, openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const MAX = { name: 'Max Example', email: 'max@example.com', password: 'a keel holds the course' };
const ROLE = 'Release manager';
const APP = '/my-organization/apps/hello';
const ROLES = '/my-organization/members/roles';

let owner: Page;
let member: Page;

test.beforeAll(async ({ browser }) => {
  owner = await openSignedIn(browser);
  member = await openMember(browser, MAX, 'viewer');
});
test.afterAll(async () => {
  await owner.context().close();
  await member.context().close();
});

const box = (permission: string) => owner.getByRole('checkbox', { name: `${ROLE}: ${permission}` });
const unsaved = () => owner.getByRole('region', { name: `Unsaved changes of ${ROLE}` });
/** Row of the member in the table of members, and of grants. */
const rowOfMax = () => owner.getByRole('row').filter({ hasText: MAX.name });

/** Opens the app as the member, who sees the button that deploys it only if they may. */
async function expectMayDeploy(may: boolean): Promise<void> {
  await member.goto(APP);
  await expect(member.getByRole('main').getByRole('link', { name: /^Visit hello/ })).toBeVisible();
  await expect(member.getByRole('button', { name: 'Deploy', exact: true })).toHaveCount(may ? 1 : 0);
}

test('a role is copied from a built-in one, and gets another permission by keyboard', async () => {
  await owner.goto(ROLES);
  await expect(owner.getByText('These five roles fit most teams.')).toBeVisible();
  await owner.getByRole('button', { name: 'New role' }).click();
  const dialog = owner.getByRole('dialog', { name: 'New role' });
  await dialog.getByLabel('Name').fill(ROLE);
  await dialog.getByLabel('Copy from').selectOption('Viewer');
  await dialog.getByRole('button', { name: 'Create role' }).click();
  await expect(box('See deployments and builds')).toBeChecked();
  await expect(box('Deploy, roll back, cancel')).not.toBeChecked();
  // The boxes are one column: two below it is the permission to deploy.
  await box('See deployments and builds').focus();
  await owner.keyboard.press('ArrowDown');
  await owner.keyboard.press('ArrowDown');
  await expect(box('Deploy, roll back, cancel')).toBeFocused();
  await owner.keyboard.press('Space');
  await expect(unsaved()).toContainText('Anyone with this role gains: Deploy, roll back, cancel.');
  await checkAppearance(owner);
  await unsaved().getByRole('button', { name: 'Save' }).click();
  await expect(owner.getByText(`${ROLE} is changed`)).toBeVisible();
  await expect(unsaved()).toHaveCount(0);
  // Permissions of owners have no box in a custom role.
  await expect(box('Delete organization')).toHaveCount(0);
});

test('a member with the role may deploy, and no longer after the permission is taken from the role', async () => {
  await expectMayDeploy(false);
  await owner.goto('/my-organization/members');
  await owner.getByRole('button', { name: `Change ${MAX.name}` }).click();
  await owner.getByRole('menuitemradio', { name: ROLE }).click();
  await expect(rowOfMax().getByRole('cell', { name: ROLE, exact: true })).toBeVisible();
  await expectMayDeploy(true);

  await owner.goto(ROLES);
  await box('Deploy, roll back, cancel').uncheck();
  await expect(unsaved()).toContainText('1 member loses: Deploy, roll back, cancel.');
  await unsaved().getByRole('button', { name: 'Discard' }).click();
  await expect(box('Deploy, roll back, cancel')).toBeChecked();
  await box('Deploy, roll back, cancel').uncheck();
  await unsaved().getByRole('button', { name: 'Save' }).click();
  await expect(unsaved()).toHaveCount(0);
  await expectMayDeploy(false);
  await owner.getByRole('button', { name: `Delete ${ROLE}` }).click();
  const dialog = owner.getByRole('dialog', { name: `Delete the role ${ROLE}` });
  await expect(dialog).toContainText('1 member holds it. Give them another role first.');
  await expect(dialog.getByRole('button', { name: `Delete ${ROLE}` })).toBeDisabled();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
});

test('a grant adds rights in one environment, and a revocation can be undone', async () => {
  const environments = Promise.withResolvers<void>();
  await owner.route(/environment\.list/, async (route) => {
    await environments.promise;
    await route.continue();
  });
  await owner.getByRole('button', { name: 'Grant role' }).click();
  const dialog = owner.getByRole('dialog', { name: 'Grant role' });
  const grant = dialog.getByRole('button', { name: 'Grant', exact: true });
  await expect(grant).toBeDisabled();
  environments.resolve();
  await dialog.getByLabel('Member').selectOption(`${MAX.name} (${MAX.email})`);
  await dialog.getByLabel('Role').selectOption('Developer');
  const narrowest = dialog.getByLabel('Scope').locator('option').first();
  await expect(narrowest).toHaveText(/ \/ Production$/);
  const scope = await narrowest.textContent();
  await checkAppearance(owner);
  await grant.click();
  await expect(rowOfMax()).toContainText(`Developer${scope}`);
  await expectMayDeploy(true);
  // The grant covers apps of that environment, not the organization.
  await expect(member.getByRole('link', { name: 'Servers', exact: true }).first()).toBeVisible();
  await member.goto('/my-organization/servers');
  await expect(member.getByRole('heading', { level: 1, name: 'Servers' })).toBeVisible();
  await expect(member.getByRole('button', { name: 'Add server' })).toHaveCount(0);

  await rowOfMax()
    .getByRole('button', { name: `Revoke Developer of ${MAX.name}` })
    .click();
  await expect(rowOfMax()).toHaveCount(0);
  await expectMayDeploy(false);
  await owner.getByRole('button', { name: 'Undo' }).click();
  await expect(rowOfMax()).toContainText(`Developer${scope}`);
  await expectMayDeploy(true);
});
