// Replaces and removes an account's ways to sign in: password, factors, known devices, sessions and links.
import type { IdentityClient } from '@fairlead/db/identity';
import { forgetFactorProofs } from './factor-proof.ts';
import type { Internals } from './internals.ts';
import { hashPassword } from './password.ts';
import { dropTwoFactor } from './two-factor.ts';

/** Sets the password, and ends each sign-in that waits for its code, because it began with the old password. */
export async function setPassword({ client }: Internals, userId: string, password: string): Promise<void> {
  const hash = await hashPassword(password);
  await client().account.updateMany({ where: { userId, providerId: 'credential' }, data: { password: hash } });
  await client().verification.deleteMany({ where: { value: userId } });
}

/** Removes the passkeys, the authenticator app and the recovery codes. */
async function dropFactors(internals: Internals, userId: string): Promise<void> {
  await internals.client().passkey.deleteMany({ where: { userId } });
  await dropTwoFactor(internals, userId);
  await forgetFactorProofs(internals, userId);
}

/** Removes the factors and the links to GitHub, and forgets the known devices. */
export async function dropFactorsAndDevices(internals: Internals, userId: string): Promise<void> {
  await dropFactors(internals, userId);
  await internals.client().knownDevice.deleteMany({ where: { userId } });
  await internals.client().githubAccount.deleteMany({ where: { userId } });
}

type ClosingClient = Pick<
  IdentityClient,
  'session' | 'passkey' | 'twoFactor' | 'user' | 'knownDevice' | 'accountLink' | 'verification' | 'githubAccount'
>;

/**
 * Removes everything that opens the account but its password; run it in a transaction. Deletes sessions twice: first so that none
 * adds a passkey afterwards, then because a passkey that was signing in may have opened another.
 */
export async function closeAccess(tx: ClosingClient, userId: string): Promise<void> {
  const where = { userId };
  await tx.session.deleteMany({ where });
  await tx.passkey.deleteMany({ where });
  await tx.twoFactor.deleteMany({ where });
  await tx.user.update({ where: { id: userId }, data: { twoFactorEnabled: false } });
  await tx.knownDevice.deleteMany({ where });
  await tx.githubAccount.deleteMany({ where });
  await tx.accountLink.deleteMany({ where });
  await tx.verification.deleteMany({ where: { value: userId } });
  await tx.session.deleteMany({ where });
}
