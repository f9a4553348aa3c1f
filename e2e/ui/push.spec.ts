// Browser test of push to deploy: from an empty organization to a push that goes live, on a fake GitHub with a real
// repository and a real agent, then what people see when GitHub fails. Runs after product.spec.ts.
import { totpOf } from '@fairlead/auth/testing/totp';
import { type Browser, expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { respondingApp } from '../system/harness/apps.ts';
import { checkAppearance } from './accessibility.ts';
import { type GitHost, type PublishedRepository, startGitHost } from './git-host.ts';
import { restartProduct } from './product-control.ts';
import { openMember, openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = '/my-organization';
const DEPLOYED = { timeout: 60_000 };

let page: Page;
let host: GitHost;
let store: PublishedRepository;

test.beforeAll(async ({ browser }) => {
  host = await startGitHost();
  store = await host.publish('storefront', respondingApp('first'));
  await host.publish('website', respondingApp('website'));
  page = await openSignedIn(browser);
});
test.afterAll(async () => {
  await page.context().close();
  await host.close();
});

const pill = () => page.locator('header').first();
const installation = () => page.getByRole('listitem').filter({ hasText: 'acme' });

/** The page asks GitHub too, but only the button's failure is a toast. */
async function refresh(): Promise<void> {
  await page.goto(`${ORGANIZATION}/settings/git`);
  // A page that opens before the answer would show the state before it.
  const answer = page.waitForResponse(
    (response) => response.request().method() === 'POST' && response.url().includes('github.sync'),
  );
  await page.getByRole('button', { name: 'Refresh' }).click();
  await answer;
}

const toasts = () => page.getByLabel('Notifications');

async function setBaseDomain(name: string | null): Promise<void> {
  await page.goto(`${ORGANIZATION}/servers`);
  await page.getByRole('link', { name: 'local', exact: true }).click();
  await page.getByRole('button', { name: name === null ? 'Edit base domain' : 'Set base domain' }).click();
  await page.getByRole('textbox', { name: 'Base domain' }).fill(name ?? '');
  await page.getByRole('button', { name: 'Save base domain' }).click();
  await expect(
    page.getByRole('button', { name: name === null ? 'Set base domain' : 'Edit base domain' }),
  ).toBeVisible();
}

test('a GitHub App is registered by a manifest and installed', async () => {
  await page.goto(`${ORGANIZATION}/settings/git`);
  await expect(page.getByText('No GitHub account is connected')).toBeVisible();
  await checkAppearance(page);
  await page.getByRole('link', { name: 'Connect GitHub' }).click();
  await page.getByLabel('Server', { exact: true }).selectOption('enterprise');
  await page.getByLabel('Server URL').fill(`${host.fake.url}/path`);
  await page.getByRole('textbox', { name: 'Organization', exact: true }).fill('acme');
  await page.getByRole('button', { name: 'Continue on GitHub' }).click();
  await expect(page.getByLabel('Server URL')).toHaveAccessibleDescription(/without a path/);
  await checkAppearance(page);
  await page.getByLabel('Server URL').fill(host.fake.url);
  await page.getByRole('button', { name: 'Continue on GitHub' }).click();
  await page.getByRole('button', { name: 'Create GitHub App for acme' }).click();
  await page.getByRole('button', { name: 'Install' }).click();
  await expect(page).toHaveURL(new RegExp(`${ORGANIZATION}/settings/git$`));
  await expect(installation()).toContainText('Installed');
  await expect(installation()).toContainText('All repositories: 2 repositories, 0 apps');
  await checkAppearance(page);
});

test('a link from GitHub that was used before says so', async () => {
  await page.goto(`${ORGANIZATION}/settings/git/registered?state=ghs_used&code=used`);
  await expect(page.getByRole('heading', { name: 'GitHub is not connected' })).toBeVisible();
  await expect(page.getByText('Start again.', { exact: false })).toBeVisible();
  await checkAppearance(page);
  await page.goto(`${ORGANIZATION}/settings/git/installed`);
  await expect(page.getByRole('heading', { name: 'This link is incomplete' })).toBeVisible();
});

test('a private repository is picked and deployed, with its log live', async () => {
  await page.goto(`${ORGANIZATION}/apps/new`);
  await page.getByRole('radio', { name: 'GitHub', exact: true }).check();
  await expect(page.getByRole('radio', { name: /acme\/website/ })).toBeVisible();
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page.getByText('Choose a repository.')).toBeVisible();
  await page.getByLabel('Search repositories').fill('stor');
  await expect(page.getByRole('radio', { name: /acme\/website/ })).toHaveCount(0);
  await page.getByRole('radio', { name: /acme\/storefront/ }).check();
  await expect(page.getByLabel('Private')).toBeVisible();
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('storefront');
  await expect(page.getByLabel('Domain')).toHaveValue('storefront.localhost');
  await checkAppearance(page);
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.getByRole('region', { name: 'Log', exact: true })).toContainText(/clon/i, DEPLOYED);
  await expect(pill()).toContainText('Live', DEPLOYED);
});

test('a push goes live, and its delivery says why', async () => {
  expect(await host.push(store, 'Greet visitors', respondingApp('second'))).toBe(202);
  await page.goto(`${ORGANIZATION}/deliveries`);
  const row = page.getByRole('row').filter({ hasText: 'Greet visitors' });
  await expect(row).toContainText('Succeeded', DEPLOYED);
  await checkAppearance(page);
  await row.getByRole('link', { name: /acme\/storefront/ }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Greet visitors' })).toBeVisible();
  await expect(page.getByText('The ref matches the rules. This commit was deployed.')).toBeVisible();
  await checkAppearance(page);
  await page.getByRole('link', { name: /Deployment #2/ }).click();
  await expect(pill()).toContainText('Live');
  await expect(page.getByText(store.head.slice(0, 7)).first()).toBeVisible();
});

test('a paused push is held, and deployed when deploys resume', async () => {
  await page.goto(`${ORGANIZATION}/apps/storefront/settings/deploys`);
  await page.getByRole('button', { name: 'Pause deploys' }).click();
  await expect(page.getByText('Pushes are recorded but not deployed.', { exact: false })).toBeVisible();
  expect(await host.push(store, 'Greet quietly', respondingApp('third'))).toBe(202);
  await expect(async () => {
    await page.reload();
    await expect(page.getByText('Greet quietly')).toBeVisible({ timeout: 1000 });
  }).toPass(DEPLOYED);
  await page.getByRole('button', { name: 'Resume deploys' }).click();
  await checkAppearance(page);
  await page.getByRole('button', { name: 'Deploy push' }).click();
  await page.goto(`${ORGANIZATION}/deliveries`);
  await expect(page.getByRole('row').filter({ hasText: 'Greet quietly' })).toContainText('Succeeded', DEPLOYED);
});

test('a rollback on a check run is refused until the account is linked, and then done', async () => {
  await expect.poll(() => host.offersOnCheckRun(store, 'rollback'), DEPLOYED).toBe(true);
  expect(await host.pressCheckRun(store, 'rollback')).toBe(202);
  await page.goto(`${ORGANIZATION}/deliveries`);
  const row = page.getByRole('row').filter({ hasText: 'Rollback of “Greet quietly”' }).first();
  await expect(row).toContainText('Rejected', DEPLOYED);
  await row.getByRole('link', { name: /acme\/storefront/ }).click();
  await expect(page.getByText('Your GitHub account is linked to no member here.', { exact: false })).toBeVisible();
  await checkAppearance(page);

  await page.goto('/account');
  await page.getByRole('button', { name: /^Link account by/ }).click();
  await page.getByRole('button', { name: /^Authorize/ }).click();
  await expect(page).toHaveURL(/\/account$/);
  await expect(page.getByRole('button', { name: 'Unlink @ada' })).toBeVisible();
  await checkAppearance(page);

  // A body acts once. The answer on the check run makes the next press another one.
  await expect.poll(() => host.summaryOfCheckRun(store, 'rollback'), DEPLOYED).toContain('linked to no member');
  expect(await host.pressCheckRun(store, 'rollback')).toBe(202);
  await page.goto(`${ORGANIZATION}/deliveries`);
  await expect(row).toContainText('Succeeded', DEPLOYED);
  await row.getByRole('link', { name: /acme\/storefront/ }).click();
  await expect(page.getByText('On GitHub, @ada asked for a rollback.')).toBeVisible();
});

test('a linked account signs in with GitHub, and a link of a sign-in works once', async ({ browser }) => {
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  // The product restarts.
  test.setTimeout(300_000);
  const { items } = await ada.query<{ items: { id: string }[] }>('github.listApps', ORGANIZATION.slice(1));
  await restartProduct({ FAIRLEAD_GITHUB_SIGN_IN_APP: items[0]?.id ?? '' });
  await inNewBrowser(browser, async (visitor) => {
    const returned = await signInWithGithub(visitor);
    await expect(visitor).toHaveURL(new RegExp(`${ORGANIZATION}$`));
    await visitor.context().clearCookies();
    await visitor.goto(returned);
    await expect(visitor.getByText('This link from GitHub was used before', { exact: false })).toBeVisible();
    await visitor.getByRole('link', { name: 'Back to sign-in' }).click();
    await expect(visitor.getByRole('button', { name: 'Sign in with GitHub' })).toBeVisible();
  });
});

test('a GitHub account without a link signs nobody in', async ({ browser }) => {
  await asGithubPerson('stranger', () =>
    inNewBrowser(browser, async (visitor) => {
      await signInWithGithub(visitor);
      await expect(
        visitor.getByText('No account here is linked to this GitHub account.', { exact: false }),
      ).toBeVisible();
      await checkAppearance(visitor);
      await visitor.goto('/');
      await expect(visitor).toHaveURL(/\/sign-in/);
    }),
  );
});

test('sign-in with GitHub still asks for the second factor', async ({ browser }) => {
  const grace = { name: 'Grace Example', email: 'grace.github@example.com', password: 'an owl reads slowly' };
  await asGithubPerson('grace', async () => {
    const own = await openMember(browser, grace, 'developer');
    await own.goto('/account');
    await own.getByRole('button', { name: /^Link account by/ }).click();
    await own.getByRole('button', { name: /^Authorize/ }).click();
    await expect(own.getByRole('button', { name: 'Unlink @grace' })).toBeVisible();
    const card = own
      .locator('section')
      .filter({ has: own.getByRole('heading', { level: 2, name: 'Two-factor sign-in' }) });
    await card.getByRole('button', { name: 'Set up' }).click();
    const setup = own.getByRole('dialog', { name: 'Set up two-factor sign-in' });
    const secret = (await setup.getByTestId('two-factor-secret').textContent()) ?? '';
    await setup.getByRole('textbox', { name: 'Code' }).fill(totpOf(secret));
    await setup.getByRole('button', { name: 'Turn on' }).click();
    await expect(own.getByText('Each code works once', { exact: false })).toBeVisible();
    await own.context().close();

    await inNewBrowser(browser, async (visitor) => {
      await signInWithGithub(visitor);
      await visitor.getByRole('textbox', { name: 'Code' }).fill('000000');
      await visitor.getByRole('button', { name: 'Continue' }).click();
      await expect(visitor.getByText('The code is wrong', { exact: false })).toBeVisible();
      await checkAppearance(visitor);
      // No session yet.
      const waiting = await visitor.context().newPage();
      await waiting.goto(ORGANIZATION);
      await expect(waiting).toHaveURL(/\/sign-in/);
      await waiting.close();
      await visitor.getByRole('textbox', { name: 'Code' }).fill(totpOf(secret, 30_000));
      await visitor.getByRole('button', { name: 'Continue' }).click();
      await expect(visitor).toHaveURL(new RegExp(`${ORGANIZATION}$`));
    });
  });
});

/** Runs work with a page of a browser without cookies. */
async function inNewBrowser(browser: Browser, work: (visitor: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '' });
  await work(await context.newPage());
  await context.close();
}

/** Goes to GitHub and back; returns the URL to which GitHub redirected. */
async function signInWithGithub(visitor: Page): Promise<string> {
  await visitor.goto('/sign-in');
  await visitor.getByRole('button', { name: 'Sign in with GitHub' }).click();
  const back = visitor.waitForRequest((request) => new URL(request.url()).pathname === '/sign-in/github');
  await visitor.getByRole('button', { name: /^Authorize/ }).click();
  return (await back).url();
}

/** Puts another person in front of the browser at GitHub. */
async function asGithubPerson(login: string, work: () => Promise<void>): Promise<void> {
  const { state } = host.fake;
  const before = state.person;
  host.fake.addAccount(login, 'User');
  state.person = login;
  try {
    await work();
  } finally {
    state.person = before;
  }
}

test('a pull request gets a preview that follows it, and its merge removes the preview', async () => {
  await setBaseDomain('previews.localhost');
  await page.goto(`${ORGANIZATION}/apps/storefront/previews`);
  await expect(page.getByText('Switch previews on below.', { exact: false })).toBeVisible();
  await page.getByRole('checkbox', { name: 'Deploy pull requests' }).check();
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('The next pull request', { exact: false })).toBeVisible();
  await checkAppearance(page);

  const change = { number: 7, title: 'Greet in green', files: respondingApp('green') } as const;
  expect(await host.changePullRequest(store, { ...change, action: 'opened' })).toBe(202);
  const row = page.getByRole('listitem').filter({ hasText: '#7' });
  await expect(row).toContainText('Live', DEPLOYED);
  await expect(row.getByRole('link', { name: /storefront-pr-7/ })).toHaveAttribute(
    'href',
    /^http:\/\/storefront-pr-7\.previews\.localhost/,
  );
  await checkAppearance(page);
  await expect.poll(() => host.commentOn(7).text, DEPLOYED).toContain('| Live |');

  const hash = row.locator('code');
  const first = (await hash.textContent()) ?? '';
  const second = { ...change, files: respondingApp('greener'), action: 'synchronize' } as const;
  expect(await host.changePullRequest(store, second)).toBe(202);
  await expect(hash).not.toHaveText(first, DEPLOYED);
  await expect(row).toContainText('Live', DEPLOYED);
  await row.getByRole('link', { name: 'Log' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(pill()).toContainText('Live');
  await page.goBack();

  expect(await host.changePullRequest(store, { ...change, action: 'closed' })).toBe(202);
  await expect(page.getByText('The next pull request', { exact: false })).toBeVisible(DEPLOYED);
  await expect.poll(() => host.commentOn(7).text, DEPLOYED).toContain('is closed');
  expect(host.commentOn(7).count).toBe(1);
  await setBaseDomain(null);
});

test('a link from GitHub for another session says so', async () => {
  await page.goto('/account/github?state=unknown&code=unknown');
  await expect(page.getByRole('heading', { name: 'No account was linked' })).toBeVisible();
  await checkAppearance(page);
  await page.goto('/account');
  await page.getByRole('button', { name: 'Unlink @ada' }).click();
  const dialog = page.getByRole('dialog', { name: 'Unlink GitHub account' });
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Unlink @ada' }).click();
  await expect(page.getByText('Not linked')).toBeVisible();
});

test('a GitHub that is down or limits the rate says what to do', async () => {
  const { faults } = host.fake.state;
  faults.down = true;
  await refresh();
  await expect(toasts()).toContainText('GitHub did not answer. Try again');
  faults.down = false;
  faults.rateLimit = { kind: 'primary', remaining: 100, retryAfterSeconds: 3600 };
  await refresh();
  await expect(toasts()).toContainText('GitHub limits the rate of requests.');
  faults.rateLimit = null;
  await refresh();
  await expect(page.getByText('Repositories are up to date')).toBeVisible();
});

test('a suspended installation is shown at the app, and its deployment fails with a sentence', async () => {
  const [installed] = host.fake.state.installations;
  if (installed === undefined) throw new Error('the app is not installed');
  installed.suspendedAt = new Date().toISOString();
  await refresh();
  await expect(installation()).toContainText('Suspended');
  await expect(installation()).toContainText('until an owner of the account unsuspends the GitHub App');
  await checkAppearance(page);
  await page.goto(`${ORGANIZATION}/apps/storefront/settings/source`);
  await expect(page.getByText('The GitHub App is suspended, so no build can read it.')).toBeVisible();
  await checkAppearance(page);
  await page.goto(`${ORGANIZATION}/apps/storefront`);
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(pill()).toContainText('Failed', DEPLOYED);
  await expect(page.getByText('The GitHub App is suspended or uninstalled', { exact: false }).first()).toBeVisible();
  await checkAppearance(page);
  installed.suspendedAt = null;
});

test('a repository that the installation lost is shown at the app', async () => {
  const [installed] = host.fake.state.installations;
  if (installed === undefined) throw new Error('the app is not installed');
  installed.repositoryIds = [];
  await refresh();
  await expect(installation()).toContainText('Installed');
  await page.goto(`${ORGANIZATION}/apps/storefront/settings/source`);
  await expect(page.getByText('The GitHub App has no access to it, so no build can read it.')).toBeVisible();
  installed.repositoryIds = null;
  await refresh();
  await page.goto(`${ORGANIZATION}/apps/storefront/settings/source`);
  await expect(page.getByText('Connected', { exact: true })).toBeVisible();
});

test('an app with a former address of the dashboard is shown, and its webhook gets the present one', async () => {
  const [app] = host.fake.state.apps;
  if (app === undefined) throw new Error('there is no app');
  const own = { hookUrl: app.hookUrl, homepageUrl: app.homepageUrl };
  app.hookUrl = 'https://former.example.test/api/webhook/gha_former';
  app.homepageUrl = 'https://former.example.test';
  await page.goto(`${ORGANIZATION}/settings/git`);
  const webhooks = page.getByRole('region', { name: 'Webhooks don’t reach this dashboard' });
  await expect(webhooks).toContainText(own.hookUrl ?? '');
  const addresses = page.getByRole('region', { name: 'The GitHub App uses an old dashboard URL' });
  await expect(addresses).toContainText('/sign-in/github');
  await expect(addresses.getByRole('link', { name: 'Open app on GitHub' })).toHaveAttribute(
    'href',
    `${host.fake.url}/organizations/acme/settings/apps/${app.slug}`,
  );
  await checkAppearance(page);
  await webhooks.getByRole('button', { name: 'Change webhook URL' }).click();
  await expect(webhooks).toBeHidden();
  expect(app.hookUrl).toBe(own.hookUrl);
  app.homepageUrl = own.homepageUrl;
  await addresses.getByRole('button', { name: 'Check again' }).click();
  await expect(addresses).toBeHidden();

  host.fake.state.faults.down = true;
  await page.reload();
  const failed = page.getByRole('region', { name: 'Addresses of the app weren’t checked' });
  await expect(failed).toContainText('GitHub did not answer');
  await checkAppearance(page);
  host.fake.state.faults.down = false;
  await failed.getByRole('button', { name: 'Check again' }).click();
  await expect(failed).toBeHidden();
});

test('an app that was deleted at GitHub says what to do', async () => {
  host.fake.state.installations.length = 0;
  await refresh();
  await expect(installation()).toContainText('Uninstalled');
  await expect(page.getByRole('button', { name: 'Install app' })).toBeVisible();
  await checkAppearance(page);
  host.fake.state.apps.length = 0;
  await refresh();
  await expect(toasts()).toContainText('GitHub no longer accepts the key of this GitHub App.');
  expect(host.fake.state.problems).toEqual([]);
});

// Later specs move all apps of the server, and add an app to an environment that they name.
test('the app and the environment of its previews are gone again', async () => {
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const organization = ORGANIZATION.slice(1);
  const { id: appId } = await ada.query<{ id: string }>('app.get', organization, { slug: 'storefront' });
  await ada.call('app.delete', { appId, confirmName: 'storefront' }, organization);
  await ada.call('app.purge', { appId, confirmName: 'storefront' }, organization);
  const { items } = await ada.query<{ items: { id: string; name: string }[] }>('environment.list', organization);
  const environmentId = items.find(({ name }) => name === 'Previews')?.id;
  await ada.call('environment.delete', { environmentId, confirmName: 'Previews' }, organization);
});
