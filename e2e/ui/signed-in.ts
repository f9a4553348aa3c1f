// Opens a browser context with a signed-in person, by default the owner.
import { type Browser, type BrowserContext, type BrowserContextOptions, expect, type Page } from '@playwright/test';
import { ADA, type Person, signIn } from '../../tools/lib/dashboard-client.ts';

/** Slug of the organization that the first start creates. */
const ORGANIZATION = 'my-organization';

/** Returns a page of a new context, which the caller must close. */
export async function openSignedIn(
  browser: Browser,
  options: BrowserContextOptions = {},
  { email, password }: Person = ADA,
): Promise<Page> {
  const baseURL = process.env.FAIRLEAD_E2E_URL ?? '';
  const context = await browser.newContext({ baseURL, ...options });
  const signedIn = await context.request.post('/api/auth/sign-in/email', {
    data: { email, password },
    headers: { origin: baseURL },
  });
  expect(signedIn.ok()).toBe(true);
  return context.newPage();
}

/** Removes the session of the context while `work` runs. */
export async function withoutSession(context: BrowserContext, work: () => Promise<void>): Promise<void> {
  const cookies = await context.cookies();
  await context.clearCookies();
  try {
    await work();
  } finally {
    await context.addCookies(cookies);
  }
}

/** Adds a person to the organization by a link of the owner, and opens a page for them, which the caller must close. */
export async function openMember(
  browser: Browser,
  person: Person,
  role: 'deployer' | 'developer' | 'viewer',
): Promise<Page> {
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const { url } = await ada.call<{ url: string }>('invitation.create', { role }, ORGANIZATION);
  await ada.call('invitation.claim', { token: url.split('#token=')[1], ...person });
  return openSignedIn(browser, {}, person);
}
