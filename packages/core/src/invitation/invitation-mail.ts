// Text of the mail that invites a person to an organization. Pure.

export interface InvitationMail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly action: { readonly label: string; readonly url: string };
}

interface InvitationMailFacts {
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
      `The link works once, for this address, until ${until} UTC. If you didn't expect an invitation, ignore this email.`,
    ],
    action: { label: 'Accept the invitation', url },
  };
}
