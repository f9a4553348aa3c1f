// A browser context of one's own in which a person, by default the owner, is signed in already.
import { type Browser, type BrowserContextOptions, expect, type Page } from '@playwright/test';
import { ADA, type Person } from '../../tools/lib/dashboard-client.ts';

/** A page of a new context, which is the caller's to close. */
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
