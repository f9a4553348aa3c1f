// Encryption of what identity stores, in the library's own form, with a secret that the database never holds.
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import type { Internals } from './internals.ts';

export async function encrypt({ library }: Internals, data: string): Promise<string> {
  return symmetricEncrypt({ key: (await library().$context).secretConfig, data });
}

export async function decrypt({ library }: Internals, data: string): Promise<string> {
  return symmetricDecrypt({ key: (await library().$context).secretConfig, data });
}
