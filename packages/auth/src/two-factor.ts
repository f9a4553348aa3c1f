// Owns setting up an authenticator app and its recovery codes; checking them at sign-in is the library's. Both are kept
// encrypted in the library's own form, under a secret that the database never holds.
import { randomUUID } from 'node:crypto';
import { createOTP } from '@better-auth/utils/otp';
import { AppError } from '@fairlead/contract/errors';
import { generateRandomString, symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import type { Session } from './create-auth.ts';
import { requireFresh } from './fresh.ts';
import { type Internals, noteChange } from './internals.ts';

export interface TwoFactorSetup {
  /** otpauth://…, for the QR code. */
  readonly uri: string;
  /** The same secret to be typed, in base32. */
  readonly secret: string;
}

const recoveryCodesCount = 10;
const codeLifeMs = 2 * 60_000;
const issuer = 'Fairlead';

/** Answers a new secret. Nothing asks for its codes until one was confirmed. */
export async function beginTwoFactor(internals: Internals, session: Session): Promise<TwoFactorSetup> {
  requireFresh(session, new Date());
  if (session.user.hasAuthenticatorApp) throw new AppError('account.two_factor_on');
  const secret = generateRandomString(32);
  const kept = {
    secret: await encrypt(internals, secret),
    backupCodes: await encrypt(internals, '[]'),
    verified: false,
  };
  const userId = session.user.id;
  await internals.client().twoFactor.upsert({
    where: { userId },
    create: { id: randomUUID(), userId, ...kept },
    update: kept,
  });
  const uri = createOTP(secret).url(issuer, session.user.email);
  return { uri, secret: new URL(uri).searchParams.get('secret') ?? '' };
}

/** Turns it on, and answers the recovery codes: the only time that they are seen. */
export async function confirmTwoFactor(
  internals: Internals,
  headers: Headers,
  session: Session,
  { code }: { code: string },
): Promise<string[]> {
  requireFresh(session, new Date());
  const { client, limit } = internals;
  const userId = session.user.id;
  const row = await client().twoFactor.findUnique({ where: { userId } });
  if (row === null || row.verified)
    throw new AppError(row === null ? 'account.two_factor_off' : 'account.two_factor_on');
  const guesser = { account: `set-up ${userId}`, deviceId: session.id, address: null };
  if (!(await limit.begin(guesser))) throw new AppError('request.too_many');
  const isRight = await createOTP(await decrypt(internals, row.secret)).verify(code);
  if (!isRight) throw new AppError('session.code_wrong');
  await limit.succeed(guesser);
  await limit.spend(`code ${userId} ${code}`, 1, codeLifeMs);
  const { codes, kept } = await makeRecoveryCodes(internals);
  await client().$transaction([
    client().twoFactor.update({ where: { userId }, data: { verified: true, backupCodes: kept } }),
    client().user.update({ where: { id: userId }, data: { twoFactorEnabled: true } }),
  ]);
  await noteChange(internals, userId, 'two_factor_on', headers);
  return codes;
}

export async function rotateRecoveryCodes(internals: Internals, headers: Headers, session: Session): Promise<string[]> {
  requireFresh(session, new Date());
  if (!session.user.hasAuthenticatorApp) throw new AppError('account.two_factor_off');
  const { codes, kept } = await makeRecoveryCodes(internals);
  await internals.client().twoFactor.update({ where: { userId: session.user.id }, data: { backupCodes: kept } });
  await noteChange(internals, session.user.id, 'recovery_codes_made', headers);
  return codes;
}

export async function disableTwoFactor(internals: Internals, headers: Headers, session: Session): Promise<void> {
  requireFresh(session, new Date());
  if (!session.user.hasAuthenticatorApp) throw new AppError('account.two_factor_off');
  await dropTwoFactor(internals, session.user.id);
  await noteChange(internals, session.user.id, 'two_factor_off', headers);
}

export async function dropTwoFactor({ client }: Internals, userId: string): Promise<void> {
  await client().$transaction([
    client().twoFactor.deleteMany({ where: { userId } }),
    client().user.update({ where: { id: userId }, data: { twoFactorEnabled: false } }),
  ]);
}

export async function countRecoveryCodes(internals: Internals, userId: string): Promise<number> {
  const row = await internals.client().twoFactor.findUnique({ where: { userId }, select: { backupCodes: true } });
  if (row === null) return 0;
  return (JSON.parse(await decrypt(internals, row.backupCodes)) as string[]).length;
}

async function makeRecoveryCodes(internals: Internals): Promise<{ codes: string[]; kept: string }> {
  const codes = Array.from({ length: recoveryCodesCount }, () => {
    const code = generateRandomString(10, 'a-z', '0-9');
    return `${code.slice(0, 5)}-${code.slice(5)}`;
  });
  return { codes, kept: await encrypt(internals, JSON.stringify(codes)) };
}

async function encrypt({ library }: Internals, data: string): Promise<string> {
  return symmetricEncrypt({ key: (await library().$context).secretConfig, data });
}

async function decrypt({ library }: Internals, data: string): Promise<string> {
  return symmetricDecrypt({ key: (await library().$context).secretConfig, data });
}
