// Browser tests of the account page: passkeys on a virtual authenticator, an authenticator app, recovery by mail,
// sessions. Runs after scan.spec.ts and leaves the account as it was.
import { join } from 'node:path';
import { ageSessions } from '@fairlead/auth/testing/age-sessions';
import { totpOf } from '@fairlead/auth/testing/totp';
import { findRunning } from '@fairlead/db/embedded';
import { type CDPSession, expect, type Page, test } from '@playwright/test';
import { ADA } from '../../tools/lib/dashboard-client.ts';
import { findLink } from './mail-sink.ts';

test.describe.configure({ mode: 'serial' });

const NEXT = 'another rope that runs free';
const mails = process.env.FAIRLEAD_E2E_MAILS ?? '';

let page: Page;
let secret: string;
let recoveryCodes: readonly string[];

test.beforeAll(async ({ browser }) => {
  const context = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '' });
  page = await context.newPage();
});
test.afterAll(() => page.context().close());

const card = (title: string) =>
  page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name: title, exact: true }) });
const overview = () => page.getByRole('heading', { level: 1, name: 'Overview' });

async function openAccount(): Promise<void> {
  await page.goto('/account');
  await expect(page.getByRole('heading', { level: 1, name: 'Your account' })).toBeVisible();
}

async function typePassword(password = ADA.password): Promise<void> {
  await page.goto('/sign-in');
  await submitPassword(password);
}

async function submitPassword(password: string): Promise<void> {
  await page.getByLabel('Email').fill(ADA.email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function signIn(): Promise<void> {
  await typePassword();
  await expect(overview()).toBeVisible();
}

/** Virtual authenticator that acts as several devices: a test removes its passkeys and puts them back. */
interface Device {
  takeOut(): Promise<Passkey[]>;
  putIn(passkeys: readonly Passkey[]): Promise<void>;
}
type Passkey = Awaited<ReturnType<typeof readPasskeys>>[number];

const readPasskeys = async (session: CDPSession, authenticatorId: string) =>
  (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials;

async function addDevice(): Promise<Device> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const;
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', { options });
  return {
    takeOut: async () => {
      const passkeys = await readPasskeys(session, authenticatorId);
      await session.send('WebAuthn.clearCredentials', { authenticatorId });
      return passkeys;
    },
    putIn: async (passkeys) => {
      for (const credential of passkeys) await session.send('WebAuthn.addCredential', { authenticatorId, credential });
    },
  };
}

async function addPasskey(name: string): Promise<void> {
  await card('Passkeys').getByRole('button', { name: 'Add passkey' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add passkey' });
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Add passkey' }).click();
  await expect(dialog).toBeHidden();
  await expect(card('Passkeys').getByRole('listitem').filter({ hasText: name })).toBeVisible();
}

test('no form can be sent before its script runs, which would put the password into the address', async ({
  browser,
}) => {
  const context = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '', javaScriptEnabled: false });
  const still = await context.newPage();
  await still.goto('/sign-in');
  await expect(still.getByRole('button', { name: 'Sign in', exact: true })).toBeDisabled();
  await still.getByLabel('Email').fill(ADA.email);
  await still.getByLabel('Password').fill(ADA.password);
  await still.keyboard.press('Enter');
  await expect(still.getByLabel('Password')).toHaveValue(ADA.password);
  await expect(still).toHaveURL(/\/sign-in$/);
  await context.close();
});

test('several passkeys are added, renamed and removed, and one signs in', async () => {
  await signIn();
  await openAccount();
  const device = await addDevice();
  await addPasskey('Laptop');
  // The first factor comes with recovery codes, shown once.
  const codes = page.getByRole('dialog', { name: 'Your recovery codes' });
  await expect(codes.getByRole('list', { name: 'Recovery codes' })).toBeFocused();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await expect(codes).toBeVisible();
  await expect(codes.getByRole('listitem')).toHaveCount(10);
  recoveryCodes = await codes.getByRole('listitem').allTextContents();
  await codes.getByRole('button', { name: "I've saved these codes" }).click();
  await expect(card('Two-factor sign-in')).toContainText('10 of 10 recovery codes left');
  // A device with a passkey of the account cannot create a second one.
  const laptop = await device.takeOut();
  await addPasskey('Stick');
  await card('Passkeys').getByRole('button', { name: 'Rename Stick' }).click();
  const rename = page.getByRole('dialog', { name: 'Rename passkey' });
  await rename.getByLabel('Name').fill('Key ring');
  await rename.getByRole('button', { name: 'Save' }).click();
  await expect(card('Passkeys').getByText('Key ring')).toBeVisible();
  await card('Passkeys').getByRole('button', { name: 'Remove Key ring' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove Key ring' }).click();
  await expect(card('Passkeys').getByText('Key ring')).toHaveCount(0);

  // The device still has a passkey that the account has removed, and the browser would offer both.
  await device.takeOut();
  await device.putIn(laptop);
  await page.goto('about:blank');
  await page.context().clearCookies();
  // A passkey leads to the linked page too.
  await page.goto('/my-organization/apps?search=hello');
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page).toHaveURL(/\/my-organization\/apps\?search=hello$/);
  await openAccount();
  await expect(card('Passkeys')).toContainText('last used');
  await expect(card('Recent activity')).toContainText('Passkey removed (Key ring)');
});

test('after a while, sensitive actions ask for the password or a passkey again', async () => {
  const databaseUrl = await findRunning(join(process.env.FAIRLEAD_E2E_DATA ?? '', 'postgres'));
  if (databaseUrl === null) throw new Error('the product has no database');
  const ask = page.getByRole('dialog', { name: "Confirm that it's you" });
  const setup = page.getByRole('dialog', { name: 'Set up two-factor sign-in' });

  await ageSessions(databaseUrl);
  await card('Two-factor sign-in').getByRole('button', { name: 'Set up' }).click();
  await ask.getByLabel('Password').fill('not the password');
  await ask.getByRole('button', { name: 'Confirm' }).click();
  await expect(ask.getByText('This is not your password.')).toBeVisible();
  await ask.getByLabel('Password').fill(ADA.password);
  await ask.getByRole('button', { name: 'Confirm' }).click();
  await expect(setup).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(setup).toBeHidden();

  await ageSessions(databaseUrl);
  await card('Two-factor sign-in').getByRole('button', { name: 'Set up' }).click();
  await ask.getByRole('button', { name: 'Use a passkey' }).click();
  await expect(setup).toBeVisible();
});

test('an authenticator app is set up by its QR code, and the recovery codes of the passkey stay', async () => {
  const setup = page.getByRole('dialog', { name: 'Set up two-factor sign-in' });
  await expect(setup.getByRole('img', { name: /QR code/ })).toBeVisible();
  secret = (await setup.getByTestId('two-factor-secret').textContent()) ?? '';
  await setup.getByRole('textbox', { name: 'Code' }).fill(totpOf(secret));
  await setup.getByRole('button', { name: 'Turn on' }).click();
  await expect(setup).toBeHidden();
  await expect(card('Two-factor sign-in').getByRole('button', { name: 'Turn off' })).toBeVisible();
  await expect(card('Two-factor sign-in')).toContainText('10 of 10 recovery codes left');
});

test('signing in by password asks for a code of the app, or a recovery code', async () => {
  await typePassword();
  await page.getByLabel('Code').fill('000000');
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByText('The code is wrong or was already used. Enter a new code.')).toBeVisible();
  // The code of the set-up is used; the app's next code is already valid, which tolerates fast clocks.
  await page.getByLabel('Code').fill(totpOf(secret, 30_000));
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(overview()).toBeVisible();
  // With a second step, the linked page is still the one that opens. The overview would leave for the sign-in by itself.
  await page.goto('about:blank');
  await page.context().clearCookies();
  await page.goto('/my-organization/apps?search=hello');
  await submitPassword(ADA.password);
  await expect(page.getByLabel('Code')).toBeFocused();
  await page.getByLabel('Code').fill(recoveryCodes[0] ?? '');
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page).toHaveURL(/\/my-organization\/apps\?search=hello$/);
  await openAccount();
  await expect(card('Two-factor sign-in')).toContainText('9 of 10 recovery codes left');
  const databaseUrl = await findRunning(join(process.env.FAIRLEAD_E2E_DATA ?? '', 'postgres'));
  if (databaseUrl === null) throw new Error('the product has no database');
  await ageSessions(databaseUrl);
  await card('Two-factor sign-in').getByRole('button', { name: 'Turn off' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
  // The confirmation takes the place of the dialog that needs it.
  const ask = page.getByRole('dialog', { name: "Confirm that it's you" });
  await expect(ask).toBeVisible();
  await expect(page.getByRole('dialog')).toHaveCount(1);
  await ask.getByLabel('Password').fill(ADA.password);
  await ask.getByRole('button', { name: 'Confirm' }).click();
  await expect(card('Two-factor sign-in').getByRole('button', { name: 'Set up' })).toBeVisible();
});

test('a session without the second factor must prove it before it changes one', async () => {
  await page.context().clearCookies();
  await signIn();
  await openAccount();
  const ask = page.getByRole('dialog', { name: 'Confirm your second factor' });
  const setup = page.getByRole('dialog', { name: 'Set up two-factor sign-in' });
  await card('Two-factor sign-in').getByRole('button', { name: 'Set up' }).click();
  await ask.getByLabel('Code').fill('aaaaa-aaaaa');
  await page.keyboard.press('Enter');
  await expect(ask.getByText('The code is wrong or was already used')).toBeVisible();
  await ask.getByLabel('Code').fill(recoveryCodes[1] ?? '');
  await page.keyboard.press('Enter');
  await expect(setup).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(card('Two-factor sign-in')).toContainText('8 of 10 recovery codes left');
});

test('an address is confirmed with the link of a mail', async () => {
  await card('Email').getByRole('button', { name: 'Send link' }).click();
  await expect.poll(() => findLink(mails, 'verify-email')).not.toBeNull();
  await page.goto(findLink(mails, 'verify-email') ?? '');
  await page.getByRole('button', { name: 'Confirm address' }).click();
  await expect(page.getByText(`${ADA.email} is confirmed.`)).toBeVisible();
  await openAccount();
  await expect(card('Email')).toContainText('Confirmed');
});

test('a forgotten password is reset by mail, and all sessions end', async () => {
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Forgot your password?' })).toBeVisible();
  await page.getByLabel('Email').fill(ADA.email);
  await page.getByRole('button', { name: 'Send link' }).click();
  await expect(page.getByText('If an account uses this address')).toBeVisible();
  await expect.poll(() => findLink(mails, 'reset-password')).not.toBeNull();
  const link = findLink(mails, 'reset-password') ?? '';
  await page.goto(link);
  await page.getByLabel('New password').fill(NEXT);
  await page.getByRole('button', { name: 'Set password' }).click();
  await expect(page.getByText('Your password is set')).toBeVisible();
  await page.goto('/account');
  await expect(page).toHaveURL(/\/sign-in/);
  await typePassword(NEXT);
  await expect(overview()).toBeVisible();
  // Opens the same link again.
  await page.goto(link);
  await page.getByLabel('New password').fill(NEXT);
  await page.getByRole('button', { name: 'Set password' }).click();
  await expect(page.getByRole('heading', { name: 'This link was used or has expired' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Request a new link' })).toBeVisible();
});

test('another session is listed, and a password change ends it', async ({ browser }) => {
  const other = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '' });
  const origin = process.env.FAIRLEAD_E2E_URL ?? '';
  const signedIn = await other.request.post('/api/auth/sign-in/email', {
    data: { email: ADA.email, password: NEXT },
    headers: { origin },
  });
  expect(signedIn.ok()).toBe(true);
  await openAccount();
  await expect(card('Sessions').getByRole('listitem')).toHaveCount(2);
  await card('Password').getByLabel('Current password').fill(NEXT);
  await card('Password').getByLabel('New password').fill(ADA.password);
  await card('Password').getByRole('button', { name: 'Change password' }).click();
  // The reset ended the session that had proved the passkey.
  const ask = page.getByRole('dialog', { name: 'Confirm your second factor' });
  await ask.getByRole('button', { name: 'Use a passkey' }).click();
  await expect(card('Sessions').getByRole('listitem')).toHaveCount(1);
  await expect(card('Sessions').getByText('This session')).toBeVisible();
  const elsewhere = await other.newPage();
  await elsewhere.goto('/account');
  await expect(elsewhere).toHaveURL(/\/sign-in/);
  await other.close();
});
