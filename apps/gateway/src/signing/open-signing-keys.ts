// Selects the signing key: the oldest one in use with a private half here. Creates only the very first key; afterwards
// a missing file stops the start, because agents trust that key and no other.
import { type Clock, type Log, systemClock } from '@fairlead/core/kernel';
import { listSigningKeys, registerSigningKey, type SigningKeyRow } from '@fairlead/core/server';
import type { Database } from '@fairlead/db';
import { makeKey, readKeys, type SigningKey } from './key-store.ts';

export interface SigningKeys {
  readonly key: SigningKey;
  /** Keys in use; agents pin all of them when they enrol. */
  readonly pinnedKeys: SigningKeyRow[];
}

export async function openSigningKeys(
  database: Database,
  dir: string,
  log: Log,
  clock: Clock = systemClock,
): Promise<SigningKeys> {
  const files = await readKeys(dir);
  return database.system('gateway: signing keys', async (tx) => {
    const ctx = { tx, clock, log };
    const known = await listSigningKeys(ctx);
    const [first] = known;
    if (first === undefined) {
      // The database is new but the folder is old: that key is as good as a new one, and agents may have pinned it.
      const key = files.values().next().value ?? (await makeKey(dir));
      const row = { keyId: key.keyId, publicKey: key.publicKey };
      await registerSigningKey(ctx, row);
      log.info({ keyId: key.keyId }, 'a signing key was registered');
      return { key, pinnedKeys: [row] };
    }
    const key = files.get(first.keyId);
    if (key === undefined || !Buffer.from(key.publicKey).equals(first.publicKey)) {
      throw new Error(
        `the signing key ${first.keyId} is not in ${dir}. Restore that folder from the backup of this control plane: ` +
          'agents trust this key and refuse every other.',
      );
    }
    return { key, pinnedKeys: [...known] };
  });
}
