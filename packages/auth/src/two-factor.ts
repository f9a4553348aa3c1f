// Setup of an authenticator app. The library checks its codes at sign-in. The app's secret is encrypted.
import { randomUUID } from 'node:crypto';
import { createOTP } from '@better-auth/utils/otp';
import { AppError } from '@fairlead/contract/errors';
import { generateRandomString } from 'better-auth/crypto';
import type { Session } from './create-auth.ts';
import { decrypt, encrypt } from './encryption.ts';
import {
  endUnprovenSessions,
  forgetFactorProofs,
  hasFactor,
  recordFactorProof,
  requireFactorChange,
} from './factor-proof.ts';
import { type Internals, noteChange } from './internals.ts';
import { ensureRecoveryCodes, renewRecoveryCodes, unusedSecret } from './recovery-codes.ts';
import { findRestorable, noteAddedFactor } from './restore-account.ts';
import { codeLifeMs } from './sign-in.ts';

export interface TwoFactorSetup {
  /** otpauth://…, for the QR code. */
  readonly uri: string;
  /** The same secret to be typed, in base32. */
  readonly secret: string;
}

const issuer = 'Fairlead';

/** Returns a new secret. Sign-in requires its codes only after one was confirmed. */
export async function beginTwoFactor(internals: Internals, session: Session): Promise<TwoFactorSetup> {
  await requireFactorChange(internals, session);
  if (session.user.hasAuthenticatorApp) throw new AppError('account.two_factor_on');
  const secret = generateRandomString(32);
  const encrypted = await encrypt(internals, secret);
  const userId = session.user.id;
  await internals.client().twoFactor.upsert({
    where: { userId },
    create: {
      id: randomUUID(),
      userId,
      secret: encrypted,
      backupCodes: await encrypt(internals, '[]'),
      verified: false,
    },
    // The recovery codes of a passkey stay.
    update: { secret: encrypted, verified: false },
  });
  const uri = createOTP(secret).url(issuer, session.user.email);
  return { uri, secret: new URL(uri).searchParams.get('secret') ?? '' };
}

/** Turns it on, and returns the recovery codes if the account had none. They are shown only this once. */
export async function confirmTwoFactor(
  internals: Internals,
  headers: Headers,
  session: Session,
  { code }: { code: string },
): Promise<string[]> {
  await requireFactorChange(internals, session);
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
  const restorable = await findRestorable(internals, userId);
  const codes = await ensureRecoveryCodes(internals, userId);
  await client().$transaction([
    client().twoFactor.update({ where: { userId }, data: { verified: true } }),
    client().user.update({ where: { id: userId }, data: { twoFactorEnabled: true } }),
  ]);
  await recordFactorProof(internals, { id: session.id });
  await endUnprovenSessions(internals, session);
  await noteAddedFactor(internals, { userId, restorable, headers }, 'two_factor_on');
  return codes;
}

export async function rotateRecoveryCodes(internals: Internals, headers: Headers, session: Session): Promise<string[]> {
  await requireFactorChange(internals, session);
  if (!(await hasFactor(internals, session.user.id))) throw new AppError('account.two_factor_off');
  const codes = await renewRecoveryCodes(internals, session.user.id);
  await noteChange(internals, session.user.id, 'recovery_codes_made', headers);
  return codes;
}

export async function disableTwoFactor(internals: Internals, headers: Headers, session: Session): Promise<void> {
  await requireFactorChange(internals, session);
  if (!session.user.hasAuthenticatorApp) throw new AppError('account.two_factor_off');
  const { client } = internals;
  const userId = session.user.id;
  await client().$transaction([
    client().twoFactor.updateMany({
      where: { userId },
      data: { verified: false, secret: await unusedSecret(internals) },
    }),
    client().user.update({ where: { id: userId }, data: { twoFactorEnabled: false } }),
  ]);
  await dropUnneededCodes(internals, userId);
  await forgetFactorProofs(internals, userId, session.id);
  await noteChange(internals, userId, 'two_factor_off', headers);
}

/** Removes the authenticator app and the recovery codes, even if the account has other factors. */
export async function dropTwoFactor({ client }: Internals, userId: string): Promise<void> {
  await client().$transaction([
    client().twoFactor.deleteMany({ where: { userId } }),
    client().user.update({ where: { id: userId }, data: { twoFactorEnabled: false } }),
  ]);
}

/** Removes the recovery codes of an account without a factor, which has no use for them. */
export async function dropUnneededCodes(internals: Internals, userId: string): Promise<void> {
  if (await hasFactor(internals, userId)) return;
  await internals.client().twoFactor.deleteMany({ where: { userId } });
}
