// Single-use links, by mail or on the server's terminal. The database stores hashes only. A link that restores an
// account outlives any action of a signed-in person.
import { createHash, randomBytes } from 'node:crypto';
import type { IdentityClient } from '@fairlead/db/identity';

export type LinkPurpose = 'verify_email' | 'change_email' | 'reset_password' | 'restore_account';

export interface SpentLink {
  readonly userId: string;
  /** The address that the link went to; empty for one that came from the server's own terminal. */
  readonly email: string;
}

type LinkClient = Pick<IdentityClient, 'accountLink' | '$queryRaw'>;

const hourMs = 60 * 60_000;
const lifeMs = {
  verify_email: 24 * hourMs,
  change_email: hourMs,
  reset_password: hourMs / 2,
  restore_account: 7 * 24 * hourMs,
} as const;

/**
 * Answers the token. An earlier link of the person for the same purpose is worth nothing from now on, but for those that
 * restore an account: a thief could outdate each of them before its reader comes to press the button.
 */
export async function makeLink(
  client: LinkClient,
  purpose: LinkPurpose,
  { userId, email }: SpentLink,
): Promise<string> {
  // A link from the server's own terminal is used immediately.
  const life = email === '' ? lifeMs.reset_password : lifeMs[purpose];
  const token = randomBytes(32).toString('base64url');
  const replaced = purpose === 'restore_account' ? [] : [{ userId, purpose }];
  await client.accountLink.deleteMany({ where: { OR: [...replaced, { expiresAt: { lt: new Date() } }] } });
  await client.accountLink.create({
    data: { tokenHash: hashOf(token), userId, purpose, email, expiresAt: new Date(Date.now() + life) },
  });
  return token;
}

/** Reports whether `spendLink` would find it, for what must not be done for strangers: a hash costs a core's time. */
export async function isOpenLink(
  client: Pick<IdentityClient, 'accountLink'>,
  purpose: LinkPurpose,
  token: string,
): Promise<boolean> {
  const where = { tokenHash: hashOf(token), purpose, expiresAt: { gt: new Date() } };
  return (await client.accountLink.count({ where })) > 0;
}

/**
 * Spends a link; null if it is unknown, used, expired or for another purpose. It is one statement, so of two
 * concurrent uses only one succeeds.
 */
export async function spendLink(client: LinkClient, purpose: LinkPurpose, token: string): Promise<SpentLink | null> {
  const rows = await client.$queryRaw<SpentLink[]>`
    DELETE FROM account_link WHERE token_hash = ${hashOf(token)} AND purpose = ${purpose} AND expires_at > ${new Date()}
    RETURNING user_id AS "userId", email`;
  return rows[0] ?? null;
}

/** Withdraws every link of the person that does not restore the account. */
export async function dropLinks(client: Pick<IdentityClient, 'accountLink'>, userId: string): Promise<void> {
  await client.accountLink.deleteMany({ where: { userId, purpose: { not: 'restore_account' } } });
}

/** Withdraws a pending change of address: its requester may have lost the right to it. */
export async function dropEmailChange(client: Pick<IdentityClient, 'accountLink'>, userId: string): Promise<void> {
  await client.accountLink.deleteMany({ where: { userId, purpose: 'change_email' } });
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
