// The one count of calls in this process: pages are counted by proxy.ts before they are made, calls of the API by the API.
import { createRateLimit, defaultCallLimits, type RateLimit } from '@fairlead/api/rate-limit';
import { webEnv } from './env-of-process.ts';

// Next loads this module once for the proxy, once for pages and once for route handlers.
const holder: { fairleadRateLimit?: RateLimit } = globalThis as object;

export function rateLimit(): RateLimit {
  holder.fairleadRateLimit ??= createRateLimit({ ...defaultCallLimits, known: webEnv().FAIRLEAD_CALLS_PER_MINUTE });
  return holder.fairleadRateLimit;
}
