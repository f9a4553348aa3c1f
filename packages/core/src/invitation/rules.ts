// Lifetime, limits and link of invitations. Pure.

const minuteMs = 60_000;

export const invitationLifetimeMs = 7 * 24 * 60 * minuteMs;
/** Maximum number of invitations that an organization creates in an hour. */
export const invitationsPerHourMax = 60;
export const renewalsMax = 10;
export const renewalGapMs = minuteMs;
/**
 * Maximum number of account creations tried with one invitation: it must not reveal in bulk which addresses have an
 * account.
 */
export const claimsMax = 10;

/** The token is in the fragment, which browsers never send: no log and no Referer holds it. */
export function invitationUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/invitation#token=${token}`;
}
