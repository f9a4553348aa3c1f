// Slugs of organizations and the delay of their deletion. Pure.

import { firstFreeSlug } from '../kernel/text.ts';

/** First parts of the dashboard's own paths: an organization of that slug would hide behind them. */
const reservedSlugs: ReadonlySet<string> = new Set([
  'account',
  'api',
  'docs',
  'forgot-password',
  'healthz',
  'install',
  'invitation',
  'new-organization',
  'no-organization',
  'reports',
  'reset-password',
  'restore-account',
  'setup',
  'sign-in',
  'verify-email',
]);

export function isReservedSlug(slug: string): boolean {
  return reservedSlugs.has(slug);
}

/** Returns the slug itself if it is free, else the first free one after it: "acme-2". */
export function freeSlug(wanted: string, taken: ReadonlySet<string>): string {
  const base = wanted === '' ? 'organization' : isReservedSlug(wanted) ? `${wanted}-organization` : wanted;
  return firstFreeSlug(base, taken);
}

const dayMs = 24 * 60 * 60_000;

/** Delay before a deletion, in which the organization can still be kept. */
export const deletionDelayMs = 7 * dayMs;
/** Time for its servers to learn that they should run nothing, before they are deleted. */
export const emptyingMs = 10 * 60_000;
/** Organizations that one person may own. */
export const ownedMax = 20;
