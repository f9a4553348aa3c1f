// Calls of a page for a passkey, from a browser of the tests. Tests only.
import type { Authenticator, AuthenticatorOptions } from './authenticator.ts';
import type { Browser } from './index.ts';

interface Challenge {
  readonly challenge: string;
  readonly userVerification?: string;
}

export async function challengeOf(browser: Browser, kind: 'register' | 'authenticate'): Promise<Challenge> {
  const response = await browser.send('GET', `/passkey/generate-${kind}-options`);
  if (!response.ok) throw new Error(`no challenge: ${response.status}`);
  return (await response.json()) as Challenge;
}

export async function addPasskey(
  browser: Browser,
  device: Authenticator,
  change: AuthenticatorOptions = {},
): Promise<Response> {
  const response = device.create(await challengeOf(browser, 'register'), change);
  return browser.send('POST', '/passkey/verify-registration', { name: 'Laptop', response });
}

export async function signInByPasskey(
  browser: Browser,
  device: Authenticator,
  change: AuthenticatorOptions = {},
): Promise<Response> {
  const response = device.get(await challengeOf(browser, 'authenticate'), change);
  return browser.send('POST', '/passkey/verify-authentication', { response });
}

/** Proves the open session. */
export async function confirmByPasskey(browser: Browser, device: Authenticator): Promise<Response> {
  const response = device.get(await challengeOf(browser, 'authenticate'));
  return browser.send('POST', '/confirm/passkey', { response });
}
