// Recovery codes: an account has ten from its first factor on. Each works once, and the last factor's removal deletes
// them.
import { randomUUID } from 'node:crypto';
import { generateRandomString } from 'better-auth/crypto';
import { decrypt, encrypt } from './encryption.ts';
import type { Internals } from './internals.ts';

const recoveryCodesCount = 10;

/** Makes codes for an account that has none left; returns the new ones, which are never shown again. */
export async function ensureRecoveryCodes(internals: Internals, userId: string): Promise<string[]> {
  return (await countRecoveryCodes(internals, userId)) > 0 ? [] : renewRecoveryCodes(internals, userId);
}

/** Replaces all codes of the account. */
export async function renewRecoveryCodes(internals: Internals, userId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodesCount }, () => {
    const code = generateRandomString(10, 'a-z', '0-9');
    return `${code.slice(0, 5)}-${code.slice(5)}`;
  });
  const backupCodes = await encrypt(internals, JSON.stringify(codes));
  await internals.client().twoFactor.upsert({
    where: { userId },
    create: { id: randomUUID(), userId, secret: await unusedSecret(internals), backupCodes, verified: false },
    update: { backupCodes },
  });
  return codes;
}

export async function countRecoveryCodes(internals: Internals, userId: string): Promise<number> {
  const row = await internals.client().twoFactor.findUnique({ where: { userId }, select: { backupCodes: true } });
  return row === null ? 0 : (await readCodes(internals, row.backupCodes)).length;
}

/** Returns whether the code was one of the account's, and uses it up. */
export async function spendRecoveryCode(internals: Internals, userId: string, code: string): Promise<boolean> {
  const row = await internals.client().twoFactor.findUnique({ where: { userId }, select: { backupCodes: true } });
  if (row === null) return false;
  const codes = await readCodes(internals, row.backupCodes);
  const left = codes.filter((each) => each !== code.toLowerCase());
  if (left.length === codes.length) return false;
  // Replaces only the value that was read, so of two concurrent uses only one succeeds.
  const { count } = await internals.client().twoFactor.updateMany({
    where: { userId, backupCodes: row.backupCodes },
    data: { backupCodes: await encrypt(internals, JSON.stringify(left)) },
  });
  return count === 1;
}

/** Returns a secret that no app knows: the row needs one while the account has recovery codes and no authenticator app. */
export function unusedSecret(internals: Internals): Promise<string> {
  return encrypt(internals, generateRandomString(32));
}

async function readCodes(internals: Internals, backupCodes: string): Promise<string[]> {
  return JSON.parse(await decrypt(internals, backupCodes)) as string[];
}
