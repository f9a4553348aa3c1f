// Inserts a passkey without a private key, for tests of accounts that have one. Tests only.
import type { Database } from '@fairlead/db';
import { identityClient } from '@fairlead/db/identity';

export async function insertPasskey(database: Database, userId: string): Promise<void> {
  await identityClient(database).passkey.create({
    data: {
      id: `passkey of ${userId}`,
      userId,
      publicKey: '',
      credentialID: userId,
      counter: 0,
      deviceType: 'singleDevice',
      backedUp: false,
    },
  });
}

/** Marks every open session of the person as having proven a second factor, as a passkey or a code would. */
export async function proveSecondFactor(database: Database, userId: string): Promise<void> {
  await identityClient(database).session.updateMany({ where: { userId }, data: { secondFactorAt: new Date() } });
}
