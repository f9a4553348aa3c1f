// Owns how often anybody may ask. Counts live in this process's memory, which stays bounded whoever asks. Must never decide
// who somebody is: it only learns afterwards whose a credential was.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { AppError, errorTable } from '@fairlead/contract/errors';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { clientAddress } from './client-address.ts';

/** Calls a minute. */
export interface CallLimits {
  /** Of one API token, or of one person in all their sessions. */
  readonly known: number;
  /** Of one address that shows no credential, or one that was not found good lately. */
  readonly address: number;
  /** Of all of those whose address nobody vouches for. */
  readonly addressless: number;
}

export const defaultCallLimits: CallLimits = { known: 1800, address: 600, addressless: 3000 };

export interface Caller {
  readonly headers: Headers;
  /** Null when nobody that is trusted says where the request came from. */
  readonly ip: string | null;
}

export interface RateLimit {
  /** Counts `calls`; throws request.rate_limited with the seconds to wait. */
  admit(caller: Caller, calls: number): Promise<void>;
  /** The credential in these headers is good, and whose: from the next request on it has an allowance of its own. */
  recognise(headers: Headers, owner: string): void;
}

const windowSeconds = 60;
/** Addresses share this many counts, so that nobody can fill the memory by having many of them. */
const addressSlots = 2 ** 16;
const credentialsMax = 20_000;

export function createRateLimit(limits: CallLimits): RateLimit {
  const known = new RateLimiterMemory({ points: limits.known, duration: windowSeconds });
  const address = new RateLimiterMemory({ points: limits.address, duration: windowSeconds });
  const addressless = new RateLimiterMemory({ points: limits.addressless, duration: windowSeconds });
  // Nobody can choose addresses that fall into one slot with somebody else's.
  const salt = randomBytes(32);
  /** Digest of a credential → its owner, the longest unused first. */
  const owners = new Map<string, string>();

  const slotOf = (ip: string): string => {
    const digest = createHmac('sha256', salt).update(networkOf(ip)).digest();
    return String(digest.readUInt32BE() % addressSlots);
  };
  return {
    admit: async ({ headers, ip }, calls) => {
      const credential = digestOf(headers);
      const owner = credential === null ? undefined : owners.get(credential);
      if (owner !== undefined) await spend(known, owner, calls);
      else if (ip !== null) await spend(address, slotOf(ip), calls);
      else await spend(addressless, 'all', calls);
    },
    recognise: (headers, owner) => {
      const credential = digestOf(headers);
      if (credential === null) return;
      owners.delete(credential);
      owners.set(credential, owner);
      const [oldest] = owners.keys();
      if (owners.size > credentialsMax && oldest !== undefined) owners.delete(oldest);
    },
  };
}

/** Counts a page; null when it may be shown, else the answer in its place. */
export async function refusePage(rateLimit: RateLimit, headers: Headers, trustedProxies: readonly string[]) {
  try {
    await rateLimit.admit({ headers, ip: clientAddress(headers, trustedProxies) }, 1);
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { http: status, message } = errorTable[error.code];
    return { status, message, headers: retryHeaders(error) };
  }
}

async function spend(limiter: RateLimiterMemory, key: string, calls: number): Promise<void> {
  try {
    await limiter.consume(key, calls);
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    throw new AppError('request.rate_limited', {
      retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
    });
  }
}

/** For a Retry-After header (RFC 9110, section 10.2.3); empty for any other error. */
export function retryHeaders(error: unknown): Record<string, string> {
  if (!(error instanceof AppError) || error.code !== 'request.rate_limited') return {};
  return { 'retry-after': String(error.details.retryAfterSeconds) };
}

function digestOf(headers: Headers): string | null {
  const shown = headers.get('authorization') ?? headers.get('cookie');
  return shown === null ? null : createHash('sha256').update(shown).digest('base64');
}

/** Whoever has one IPv6 address has 2^64 of them: they count as one. */
function networkOf(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const [head = '', tail] = ip.toLowerCase().split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups =
    tail === undefined ? before : [...before, ...Array(8 - before.length - after.length).fill('0'), ...after];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
