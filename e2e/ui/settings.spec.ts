// Browser tests of an app's network settings: an owner opens server ports to it, a developer sees them and changes
// other settings. Runs after product.spec.ts, which leaves an app.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openMember, openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const LIN = { name: 'Lin Example', email: 'lin@example.com', password: 'a block turns the line' };
const CONFIG = '/my-organization/apps/hello/settings/runtime';

let owner: Page;
let developer: Page;

test.beforeAll(async ({ browser }) => {
  owner = await openSignedIn(browser);
  developer = await openMember(browser, LIN, 'developer');
});
test.afterAll(async () => {
  await owner.context().close();
  await developer.context().close();
});

const network = (page: Page) => page.locator('section').filter({ has: page.getByRole('heading', { name: 'Network' }) });
const ports = (page: Page) => network(page).getByRole('textbox', { name: 'Address and port' });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });

test('an invalid server port is marked, and a bare port means loopback', async () => {
  await owner.goto(CONFIG);
  await network(owner).getByRole('checkbox', { name: 'Private network access' }).check();
  await network(owner).getByRole('button', { name: 'Add server port' }).click();
  await ports(owner).fill('localhost:5432');
  await save(owner).click();
  await expect(network(owner)).toContainText('Enter an IP address in place of the name');
  await checkAppearance(owner);
  await ports(owner).fill('5432');
  await save(owner).click();
  await expect(ports(owner)).toHaveValue('127.0.0.1:5432');
  await expect(owner.getByText(/not live yet: [^.]*Private network access, Server ports/)).toBeVisible();
});

test('a server port cannot be added twice', async () => {
  await network(owner).getByRole('button', { name: 'Add server port' }).click();
  await ports(owner).nth(1).fill('127.0.0.1:5432');
  await save(owner).click();
  await expect(network(owner)).toContainText('127.0.0.1:5432 is in the list already.');
  await ports(owner).nth(1).fill('[::1]:6379');
  await save(owner).click();
  await expect(save(owner)).toBeDisabled();
  await expect(ports(owner)).toHaveCount(2);
});

test('a member without the permission sees why these settings are read-only, and saves others', async () => {
  await developer.goto(CONFIG);
  const isPrivate = network(developer).getByRole('checkbox', { name: 'Private network access' });
  await expect(isPrivate).toBeChecked();
  await expect(isPrivate).toBeDisabled();
  await expect(ports(developer)).toHaveCount(2);
  for (const port of await ports(developer).all()) await expect(port).toBeDisabled();
  await expect(network(developer)).toContainText('You need the permission “Change servers”');
  await checkAppearance(developer);
  await developer.getByText('Advanced', { exact: true }).click();
  await developer.getByLabel('Stop timeout').fill('7');
  await save(developer).click();
  // The button is disabled while it saves, too.
  await expect(developer.getByText(/^Saved as version \d+\./)).toBeVisible();
  await expect(developer.getByLabel('Stop timeout')).toHaveValue('7');
});

test('the owner closes both again', async () => {
  await owner.goto(CONFIG);
  await network(owner).getByRole('checkbox', { name: 'Private network access' }).uncheck();
  await network(owner).getByRole('button', { name: 'Remove 127.0.0.1:5432' }).click();
  await network(owner).getByRole('button', { name: 'Remove [::1]:6379' }).click();
  await owner.getByLabel('Stop timeout').fill('');
  await save(owner).click();
  await expect(save(owner)).toBeDisabled();
  await expect(ports(owner)).toHaveCount(0);
  // The default is the placeholder of the empty field.
  await expect(owner.getByLabel('Stop timeout')).toHaveAttribute('placeholder', '10');
});
