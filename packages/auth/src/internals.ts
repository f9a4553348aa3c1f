// Shared parts of identity: its client, the library, the limits, and the origin of a request.
import { getIPFromHeader } from '@better-auth/core/utils/ip';
import type { IdentityClient } from '@fairlead/db/identity';
import type { Mail } from '@fairlead/mail';
import { type Origin, recordEvent } from './account-event.ts';
import type { KnownDevices } from './known-device.ts';
import type { AuthOptions, Library } from './library.ts';
import { changeMail, type NoticedChange } from './mails.ts';
import type { SignInLimit } from './sign-in-limit.ts';

export interface Internals {
  readonly options: AuthOptions;
  readonly client: () => IdentityClient;
  /** Returns all origins of the dashboard, with those of its domains. */
  readonly origins: () => readonly string[];
  /** Returns the library of the request's domain: each domain has one, because passkeys belong to one domain. */
  readonly library: (headers?: Headers) => Library;
  readonly limit: SignInLimit;
  readonly devices: KnownDevices;
}

export function originOf({ options }: Internals, headers: Headers): Origin {
  return { ip: clientAddress(headers, options.trustedProxies), userAgent: headers.get('user-agent') };
}

/** Returns the client's address; null without a trusted proxy. An IPv6 network counts as one address. */
function clientAddress(headers: Headers, trustedProxies: readonly string[]): string | null {
  const forwarded = headers.get('x-forwarded-for');
  if (forwarded === null || trustedProxies.length === 0) return null;
  return getIPFromHeader(forwarded, { trustedProxies: [...trustedProxies] });
}

export function pageUrl({ options }: Internals, path: string): string {
  return `${options.linkUrl?.() ?? options.baseUrl}${path}`;
}

/** Returns the origin of the page that sent the request; null: none, or none of the dashboard. */
export function ownOriginOf({ origins }: Pick<Internals, 'origins'>, headers: Headers): string | null {
  const origin = headers.get('origin') ?? '';
  return origins().includes(origin) ? origin : null;
}

/** Sends a mail after the response, so that its duration never reveals if an account exists. */
export function sendLater({ options }: Internals, mail: Mail): void {
  options.mail?.send(mail).catch((error: unknown) => options.onFailure(error, 'a mail of identity was not sent'));
}

/** Records the change and notifies the person by mail. */
export async function noteChange(
  internals: Internals,
  userId: string,
  change: NoticedChange,
  headers: Headers,
  detail: string | null = null,
): Promise<void> {
  await recordEvent(internals.client(), userId, change, originOf(internals, headers), detail);
  const user = await internals.client().user.findUnique({ where: { id: userId }, select: { email: true } });
  if (user !== null) sendLater(internals, changeMail(user.email, change, pageUrl(internals, '/account')));
}
