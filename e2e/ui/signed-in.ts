// Opens a browser context with a signed-in person, by default the owner.
import { type Browser, type BrowserContextOptions, expect, type Page } from '@playwright/test';
import { ADA, type Person } from '../../tools/lib/dashboard-client.ts';

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
