// Second-factor proof of the open session, by a code of the authenticator app or a recovery code. Counts guesses as sign-in does.
import { createOTP } from '@better-auth/utils/otp';
import { AppError } from '@fairlead/contract/errors';
import type { Caller } from './account.ts';
import { recordEvent } from './account-event.ts';
import { decrypt } from './encryption.ts';
import { recordFactorProof } from './factor-proof.ts';
import { type Internals, originOf } from './internals.ts';
import { spendRecoveryCode } from './recovery-codes.ts';
import { codeLifeMs, guesserOf } from './sign-in.ts';

const appCode = /^\d{6}$/;

/** Proves the open session by a code of the authenticator app or by a recovery code. */
export async function confirmSecondFactor(
  internals: Internals,
  { session, headers }: Caller,
  { code }: { readonly code: string },
): Promise<void> {
  const { client, limit } = internals;
  const userId = session.user.id;
  // Shares the allowance of the second step at sign-in, so that a session gives no further guesses.
  const guesser = await guesserOf(internals, headers, userId, userId);
  if (!(await limit.begin(guesser))) throw new AppError('request.too_many');
  const isRight = appCode.test(code)
    ? await isCodeOfApp(internals, userId, code)
    : await spendRecoveryCode(internals, userId, code);
  if (!isRight) throw new AppError('session.code_wrong');
  await limit.succeed(guesser);
  if (!appCode.test(code)) await recordEvent(client(), userId, 'recovery_code_used', originOf(internals, headers));
  await recordFactorProof(internals, { id: session.id });
}

async function isCodeOfApp(internals: Internals, userId: string, code: string): Promise<boolean> {
  const row = await internals.client().twoFactor.findUnique({ where: { userId } });
  if (row === null || !row.verified) return false;
  // A code works once (RFC 6238, section 5.2), here and at sign-in together.
  if (!(await internals.limit.spend(`code ${userId} ${code}`, 1, codeLifeMs))) return false;
  return createOTP(await decrypt(internals, row.secret)).verify(code);
}
