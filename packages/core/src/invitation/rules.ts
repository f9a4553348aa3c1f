// Lifetime and limits of invitations, and the text of their mail. Pure.

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

export interface InvitationMail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action: { readonly label: string; readonly url: string };
}

export interface InvitationMailFacts {
  readonly to: string;
  readonly organizationName: string;
  readonly inviterName: string;
  readonly expiresAt: Date;
  readonly url: string;
}

export function invitationMail({
  to,
  organizationName,
  inviterName,
  expiresAt,
  url,
}: InvitationMailFacts): InvitationMail {
  const until = expiresAt.toISOString().slice(0, 16).replace('T', ' ');
  return {
    to,
    subject: `Join ${organizationName} on Fairlead`,
    paragraphs: [
      `${inviterName} invites you to the organization ${organizationName} on Fairlead.`,
      `The link works once, for this address, until ${until} UTC. If you expected no invitation, ignore this mail.`,
    ],
    action: { label: 'Accept the invitation', url },
  };
}
