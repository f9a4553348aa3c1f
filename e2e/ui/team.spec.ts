// Browser tests of a team: a new organization, an invitation by link, a new member, roles, removal, and the scheduled
// deletion of the organization.
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const GRACE = { name: 'Grace Example', email: 'grace@example.com', password: 'a sail fills with wind' };

let owner: Page;
let joiner: BrowserContext;
let guest: Page;
let link = '';

test.beforeAll(async ({ browser }) => {
  owner = await openSignedIn(browser);
  joiner = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '' });
  guest = await joiner.newPage();
});
test.afterAll(async () => {
  await owner.context().close();
  await joiner.close();
});

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

test('every user can create an organization from the switcher', async () => {
  await owner.goto('/my-organization');
  await owner.getByRole('button', { name: 'My organization' }).click();
  await owner.getByRole('menuitem', { name: 'New organization' }).click();
  await expect(heading(owner, 'New organization')).toBeVisible();
  await checkAppearance(owner);
  await owner.getByLabel('Name').fill('Ropes & Rings');
  await owner.getByRole('button', { name: 'Create organization' }).click();
  await expect(owner).toHaveURL(/\/ropes-rings$/);
});

test('an invitation by link is shown once', async () => {
  await owner.goto('/ropes-rings/members');
  await expect(owner.getByText('No pending invitations')).toBeVisible();
  await owner.getByRole('button', { name: 'Invite', exact: true }).click();
  const dialog = owner.getByRole('dialog', { name: 'Invite to Ropes & Rings' });
  await dialog.getByRole('button', { name: 'By link' }).click();
  await dialog.getByLabel('Role').selectOption({ label: 'Viewer' });
  await dialog.getByRole('button', { name: 'Create link' }).click();
  link = (await dialog.getByTestId('invitation-link').textContent()) ?? '';
  expect(link).toMatch(/\/invitation#token=invite_/);
  await checkAppearance(owner);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(rowOf(owner, 'Anyone with the link')).toContainText('Viewer');
  await checkAppearance(owner);
});

test('a new user creates an account and joins; no URL contains the token', async () => {
  const addresses: string[] = [];
  guest.on('request', (request) => addresses.push(request.url()));
  await guest.goto(link);
  await expect(heading(guest, 'Join Ropes & Rings')).toBeVisible();
  await checkAppearance(guest);
  await guest.getByLabel('Your name').fill(GRACE.name);
  await guest.getByLabel('Email').fill(GRACE.email);
  await guest.getByLabel('Password').fill(GRACE.password);
  await guest.getByRole('button', { name: 'Create account and join' }).click();
  await expect(guest).toHaveURL(/\/ropes-rings$/);
  await expect(heading(guest, 'Overview')).toBeVisible();
  expect(addresses.filter((address) => address.includes('invite_'))).toEqual([]);
  // Members without the permission see no invite button.
  await guest.goto('/ropes-rings/members');
  await expect(rowOf(guest, GRACE.name)).toContainText('Viewer');
  await expect(guest.getByRole('button', { name: 'Invite', exact: true })).toHaveCount(0);
});

test('the link works once', async () => {
  await guest.goto('/');
  await guest.goto(link);
  await expect(heading(guest, 'This invitation no longer works')).toBeVisible();
});

test('a role is changed and reverted by keyboard', async () => {
  await expect(rowOf(owner, GRACE.name)).toContainText('Viewer');
  await owner.getByRole('button', { name: `Change ${GRACE.name}` }).focus();
  await owner.keyboard.press('ArrowDown');
  await owner.keyboard.press('D');
  await owner.keyboard.press('D');
  await expect(owner.getByRole('menuitemradio', { name: 'Developer' })).toBeFocused();
  await owner.keyboard.press('Enter');
  await expect(rowOf(owner, GRACE.name)).toContainText('Developer');
  await owner.getByRole('button', { name: 'Undo' }).click();
  await expect(rowOf(owner, GRACE.name)).toContainText('Viewer');
});

test('a removed member loses access at once', async () => {
  await owner.getByRole('button', { name: `Change ${GRACE.name}` }).click();
  await owner.getByRole('menuitem', { name: `Remove ${GRACE.name}` }).click();
  const dialog = owner.getByRole('dialog', { name: `Remove ${GRACE.name}` });
  await expect(dialog).toContainText(GRACE.email);
  await dialog.getByRole('button', { name: `Remove ${GRACE.name}` }).click();
  await expect(rowOf(owner, GRACE.name)).toHaveCount(0);
  await guest.goto('/ropes-rings');
  await expect(heading(guest, 'Overview')).toHaveCount(0);
  await guest.goto('/');
  await expect(heading(guest, 'You are not in an organization')).toBeVisible();
});

test('the deletion of an organization is scheduled, shown on every page and cancelled', async () => {
  await owner.goto('/ropes-rings/settings/organization');
  await expect(heading(owner, 'Organization')).toBeVisible();
  await checkAppearance(owner);
  await owner.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = owner.getByRole('dialog', { name: 'Delete the organization Ropes & Rings' });
  const confirm = dialog.getByRole('button', { name: 'Delete Ropes & Rings' });
  await expect(confirm).toBeDisabled();
  await dialog.getByRole('textbox').fill('Ropes & Rings');
  await confirm.click();
  const banner = owner.getByRole('region', { name: 'Deletion' });
  await expect(banner).toContainText('will be deleted');
  await checkAppearance(owner);
  await owner.goto('/ropes-rings');
  await banner.getByRole('button', { name: 'Cancel' }).click();
  await expect(banner).toHaveCount(0);
});

test('the last owner cannot leave', async () => {
  await owner.goto('/ropes-rings/settings/organization');
  await owner.getByRole('button', { name: 'Leave', exact: true }).click();
  const dialog = owner.getByRole('dialog', { name: 'Leave Ropes & Rings' });
  await dialog.getByRole('button', { name: 'Leave Ropes & Rings' }).click();
  await expect(dialog.getByText('An organization needs an owner.')).toBeVisible();
});
