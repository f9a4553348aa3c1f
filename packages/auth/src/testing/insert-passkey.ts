// A passkey that nobody holds, for tests of what having one means. Tests only.
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
