// Rate limit of calls for all web processes together. Each process takes small portions of calls out of PostgreSQL's count and
// spends them from memory. Never decides who a caller is; it learns a credential's owner afterwards.
import { createHash, createHmac } from 'node:crypto';
import type { SignedCookies } from '@fairlead/auth';
import { AppError, errorTable } from '@fairlead/contract/errors';
import { networkOf } from '@fairlead/core/kernel';
import { type ClaimedCalls, claimCalls } from '@fairlead/core/request';
import type { Database } from '@fairlead/db';
import { bearerOf } from './bearer.ts';
import { clientAddress } from './client-address.ts';

/** Calls a minute. */
export interface CallLimits {
  /** Limit of one API token, or of one person in all their sessions. */
  readonly known: number;
  /** Calls of a session that this process did not look up lately, or of a known device, by their signed cookies. */
  readonly signed: number;
  /** Calls of one address without a credential that this process saw lately; as many again for signing in. */
  readonly address: number;
  /** Calls of all strangers together where no trusted proxy forwards addresses; as many again for signing in. */
  readonly addressless: number;
  /** Inspections of one person, in all sessions and by all tokens: each makes a server clone a repository. */
  readonly inspections: number;
  /** Test emails of one person. */
  readonly testMails: number;
  /** Deliveries to one webhook. */
  readonly deliveries: number;
}

export const defaultCallLimits: CallLimits = {
  known: 1800,
  signed: 120,
  address: 600,
  addressless: 3000,
  inspections: 20,
  testMails: 3,
  deliveries: 60_000,
};

export interface RateLimitOptions {
  readonly limits: CallLimits;
  readonly database: Database;
  /** Secret that all processes share. Without it, a caller can't choose addresses that share a count with another's. */
  readonly secret: string;
  readonly cookies: SignedCookies;
}

export interface Caller {
  readonly headers: Headers;
  /** Client address; null without a trusted source. */
  readonly ip: string | null;
  /** Counts sign-ins of strangers apart from their other calls. */
  readonly isSigningIn?: boolean;
}

export interface RateLimit {
  /** Counts `calls`; throws request.rate_limited with the seconds to wait. */
  admit(caller: Caller, calls: number): Promise<void>;
  /** Counts one inspection, in addition to its call; throws request.rate_limited. */
  admitInspection(userId: string): Promise<void>;
  /** Counts one test email, in addition to its call; throws request.rate_limited. */
  admitTestMail(userId: string): Promise<void>;
  /** Counts one delivery to a webhook; throws request.rate_limited. */
  admitDelivery(endpointId: string): Promise<void>;
  /**
   * Records that the credential in these headers is valid and its owner: from the next request on it has a limit of
   * its own.
   */
  recognise(headers: Headers, owner: string): void;
  /** Treats the credential in these headers as a stranger's again, so that it does not use up its owner's limit. */
  forget(headers: Headers): void;
}

const windowMs = 60_000;
/** Number of counts that addresses and cookies share, so that many of them fill neither memory nor table. */
const slots = 2 ** 16;
const credentialsMax = 20_000;
const credentialsOfOwnerMax = 50;
/** Page that counts with the sign-in calls, because its form needs both. */
const signInPage = '/sign-in';

export function createRateLimit({ limits, database, secret, cookies }: RateLimitOptions): RateLimit {
  const spend = createSpender(database);
  const owners = createOwners();

  const slotOf = (text: string): string => {
    const digest = createHmac('sha256', secret).update(`rate limit ${text}`).digest();
    return String(digest.readUInt32BE() % slots);
  };
  const credentialOf = (headers: Headers): string | null => {
    const bearer = bearerOf(headers);
    if (bearer !== null) return digestOf(`bearer ${bearer}`);
    const session = cookies.session(headers);
    return session === null ? null : digestOf(`session ${session}`);
  };
  /** Null: a stranger. */
  const signedKeyOf = (headers: Headers): string | null => {
    if (bearerOf(headers) !== null) return null;
    const session = cookies.session(headers);
    if (session !== null) return `session ${slotOf(`session ${session}`)}`;
    const device = cookies.device(headers);
    return device === null ? null : `device ${slotOf(`device ${device}`)}`;
  };
  return {
    admit: async ({ headers, ip, isSigningIn = false }, calls) => {
      const credential = credentialOf(headers);
      const owner = credential === null ? undefined : owners.find(credential);
      if (owner !== undefined) return spend(`known ${owner}`, limits.known, calls);
      const signed = signedKeyOf(headers);
      if (signed !== null) return spend(signed, limits.signed, calls);
      const prefix = isSigningIn ? 'sign-in ' : '';
      if (ip !== null) return spend(`${prefix}address ${slotOf(networkOf(ip))}`, limits.address, calls);
      return spend(`${prefix}addressless`, limits.addressless, calls);
    },
    admitInspection: (userId) => spend(`inspection ${userId}`, limits.inspections, 1),
    admitTestMail: (userId) => spend(`test mail ${userId}`, limits.testMails, 1),
    admitDelivery: (endpointId) => spend(`delivery ${endpointId}`, limits.deliveries, 1),
    recognise: (headers, owner) => {
      const credential = credentialOf(headers);
      if (credential !== null) owners.keep(credential, owner);
    },
    forget: (headers) => {
      const credential = credentialOf(headers);
      if (credential !== null) owners.delete(credential);
    },
  };
}

interface Owners {
  find(credential: string): string | undefined;
  keep(credential: string, owner: string): void;
  delete(credential: string): void;
}

/** Digests of credentials and their owners. One owner's many credentials displace each other, not those of others. */
function createOwners(): Owners {
  /** The longest unused first; so are the credentials of each owner. */
  const owners = new Map<string, string>();
  const credentials = new Map<string, Set<string>>();

  const remove = (credential: string | undefined): void => {
    const owner = credential === undefined ? undefined : owners.get(credential);
    if (credential === undefined || owner === undefined) return;
    owners.delete(credential);
    const kept = credentials.get(owner);
    kept?.delete(credential);
    if (kept?.size === 0) credentials.delete(owner);
  };
  return {
    find: (credential) => owners.get(credential),
    delete: remove,
    keep: (credential, owner) => {
      remove(credential);
      const kept = credentials.get(owner) ?? new Set();
      credentials.set(owner, kept.add(credential));
      owners.set(credential, owner);
      if (kept.size > credentialsOfOwnerMax) remove(kept.values().next().value);
      if (owners.size > credentialsMax) remove(owners.keys().next().value);
    },
  };
}

/** Calls that this process may still admit for a key without a query to PostgreSQL. */
interface Portion {
  readonly left: number;
  /** Time of `performance.now()`. */
  readonly endsAt: number;
  /** The window has no calls left for any process. */
  readonly isSpent: boolean;
}

/** Divisor of a limit for one claim of a process: few queries, and few calls left unused in another process. */
const portionsOfLimit = 30;
const portionsMax = 10_000;

function createSpender(database: Database): (key: string, callsMax: number, calls: number) => Promise<void> {
  const portions = new Map<string, Portion>();
  const claims = new Map<string, Promise<void>>();

  const keep = (key: string, wanted: number, { granted, windowEndsInMs }: ClaimedCalls): void => {
    const now = performance.now();
    const before = portions.get(key);
    const left = before !== undefined && before.endsAt > now ? before.left : 0;
    portions.set(key, { left: left + granted, endsAt: now + windowEndsInMs, isSpent: granted < wanted });
    if (portions.size <= portionsMax) return;
    for (const [old, { endsAt }] of portions) if (endsAt <= now) portions.delete(old);
  };
  const claim = async (key: string, callsMax: number, calls: number): Promise<void> => {
    const wanted = Math.max(calls, Math.ceil(callsMax / portionsOfLimit));
    const claimed = await database.system('count calls', (tx) =>
      claimCalls({ tx }, { key, calls: wanted, callsMax, windowMs }),
    );
    keep(key, wanted, claimed);
  };

  return async (key, callsMax, calls) => {
    for (;;) {
      const now = performance.now();
      const portion = portions.get(key);
      if (portion !== undefined && portion.endsAt > now) {
        if (portion.left >= calls) {
          portions.set(key, { ...portion, left: portion.left - calls });
          return;
        }
        if (portion.isSpent) {
          const retryAfterSeconds = Math.ceil(Math.min(portion.endsAt - now, windowMs) / 1000);
          throw new AppError('request.rate_limited', { retryAfterSeconds });
        }
      }
      // Concurrent requests wait for one claim and check again.
      let pending = claims.get(key);
      if (pending === undefined) {
        pending = claim(key, callsMax, calls).finally(() => claims.delete(key));
        claims.set(key, pending);
      }
      await pending;
    }
  };
}

/** Counts a page; null if it may be shown, else the response in its place. */
export async function refusePage(
  rateLimit: RateLimit,
  { headers, pathname }: { readonly headers: Headers; readonly pathname: string },
  trustedProxies: readonly string[],
) {
  const isSigningIn = pathname === signInPage;
  try {
    await rateLimit.admit({ headers, ip: clientAddress(headers, trustedProxies), isSigningIn }, 1);
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { http: status, message } = errorTable[error.code];
    return { status, message, headers: retryHeaders(error) };
  }
}

/** For a Retry-After header (RFC 9110, section 10.2.3); empty for any other error. */
export function retryHeaders(error: unknown): Record<string, string> {
  if (!(error instanceof AppError) || error.code !== 'request.rate_limited') return {};
  return { 'retry-after': String(error.details.retryAfterSeconds) };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
