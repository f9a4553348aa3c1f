// Owns single-use links: who holds one reads a mailbox, or the server's own terminal. The database keeps hashes only.
import { createHash, randomBytes } from 'node:crypto';
import type { IdentityClient } from '@fairlead/db/identity';

export type LinkPurpose = 'verify_email' | 'change_email' | 'reset_password';

export interface SpentLink {
  readonly userId: string;
  /** The address that the link went to; empty for one that came from the server's own terminal. */
  readonly email: string;
}

type LinkClient = Pick<IdentityClient, 'accountLink' | '$queryRaw'>;

const lifeMs = { verify_email: 24 * 60 * 60_000, change_email: 60 * 60_000, reset_password: 30 * 60_000 } as const;

/** Answers the token. An earlier link of the person for the same purpose is worth nothing from now on. */
export async function makeLink(
  client: LinkClient,
  purpose: LinkPurpose,
  { userId, email }: SpentLink,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await client.accountLink.deleteMany({ where: { OR: [{ userId, purpose }, { expiresAt: { lt: new Date() } }] } });
  await client.accountLink.create({
    data: { tokenHash: hashOf(token), userId, purpose, email, expiresAt: new Date(Date.now() + lifeMs[purpose]) },
  });
  return token;
}

/** Null when it is unknown, used, outdated or for something else. One statement: of two who come at once, one wins. */
export async function spendLink(client: LinkClient, purpose: LinkPurpose, token: string): Promise<SpentLink | null> {
  const rows = await client.$queryRaw<SpentLink[]>`
    DELETE FROM account_link WHERE token_hash = ${hashOf(token)} AND purpose = ${purpose} AND expires_at > ${new Date()}
    RETURNING user_id AS "userId", email`;
  return rows[0] ?? null;
}

/** Withdraws a change of address that is under way: whoever began it may have lost the right to. */
export async function dropEmailChange(client: Pick<IdentityClient, 'accountLink'>, userId: string): Promise<void> {
  await client.accountLink.deleteMany({ where: { userId, purpose: 'change_email' } });
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
