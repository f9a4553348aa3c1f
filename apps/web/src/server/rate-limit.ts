// Rate limit of this process: proxy.ts counts pages before they are rendered, and the API counts its calls.
import { createRateLimit, defaultCallLimits, type RateLimit } from '@fairlead/api/rate-limit';
import type { SignedCookies } from '@fairlead/auth';
import type { Database } from '@fairlead/db';
import { webEnv } from './env-of-process.ts';

// Next loads this module once for the proxy, once for pages and once for route handlers; they share one limit.
const holder: { fairleadRateLimit?: RateLimit } = globalThis as object;

/** Sets the limit at the start of this process. All web processes count in the same database. */
export function startRateLimit(database: Database, secret: string, cookies: SignedCookies): RateLimit {
  const limits = { ...defaultCallLimits, known: webEnv().FAIRLEAD_CALLS_PER_MINUTE };
  holder.fairleadRateLimit = createRateLimit({ limits, database, secret, cookies });
  return holder.fairleadRateLimit;
}

/** Returns null before this process is set up: there is nothing to protect yet. */
export function rateLimit(): RateLimit | null {
  return holder.fairleadRateLimit ?? null;
}
