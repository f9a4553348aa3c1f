// The one limit of calls in this process: pages are counted by proxy.ts before they are made, calls of the API by the API.
import { createRateLimit, defaultCallLimits, type RateLimit } from '@fairlead/api/rate-limit';
import type { SignedCookies } from '@fairlead/auth';
import type { Database } from '@fairlead/db';
import { webEnv } from './env-of-process.ts';

// Next loads this module once for the proxy, once for pages and once for route handlers.
const holder: { fairleadRateLimit?: RateLimit } = globalThis as object;

/** For the composition of this process, which has the database that all web processes count in. */
export function startRateLimit(database: Database, secret: string, cookies: SignedCookies): RateLimit {
  const limits = { ...defaultCallLimits, known: webEnv().FAIRLEAD_CALLS_PER_MINUTE };
  holder.fairleadRateLimit = createRateLimit({ limits, database, secret, cookies });
  return holder.fairleadRateLimit;
}

/** Null before this process is composed: nothing that it would protect is there yet. */
export function rateLimit(): RateLimit | null {
  return holder.fairleadRateLimit ?? null;
}
