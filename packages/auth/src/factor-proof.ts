// Second-factor proofs of sessions. Changes to an account's ways to sign in need such a proof.
import { AppError } from '@fairlead/contract/errors';
import { dropEmailChange } from './account-link.ts';
import type { Session } from './create-auth.ts';
import { requireFresh } from './fresh.ts';
import type { Internals } from './internals.ts';

/**
 * Throws session.second_factor_required when the account has a passkey or an authenticator app and this session has proven
 * neither: a password alone must not change what guards against a stolen password.
 */
export async function requireProvenFactor(internals: Internals, session: Session): Promise<void> {
  if (!session.user.hasSecondFactor && (await hasFactor(internals, session.user.id))) {
    throw new AppError('session.second_factor_required');
  }
}

/** Guards adding, renewing and removing a factor. Throws session.not_fresh and session.second_factor_required. */
export async function requireFactorChange(internals: Internals, session: Session): Promise<void> {
  requireFresh(session, new Date());
  await requireProvenFactor(internals, session);
}

/** Reports whether the account has a passkey or an authenticator app. */
export async function hasFactor({ client }: Internals, userId: string): Promise<boolean> {
  const user = await client().user.findUnique({
    where: { id: userId },
    select: { twoFactorEnabled: true, _count: { select: { passkeys: true } } },
  });
  return user !== null && (user.twoFactorEnabled || user._count.passkeys > 0);
}

/** Answers false when the session has ended meanwhile. */
export async function recordFactorProof(
  { client }: Internals,
  session: { readonly id: string } | { readonly token: string },
): Promise<boolean> {
  const { count } = await client().session.updateMany({ where: session, data: { secondFactorAt: new Date() } });
  return count > 0;
}

/**
 * Ends the other sessions without a proven factor after one was added, because a stranger may have opened them, and the change of
 * address that one of them may have begun.
 */
export async function endUnprovenSessions({ client }: Internals, session: Session): Promise<void> {
  const where = { userId: session.user.id, id: { not: session.id }, secondFactorAt: null };
  await client().session.deleteMany({ where });
  await dropEmailChange(client(), session.user.id);
}

/**
 * Asks every other session for a factor again after one was removed, and this one too if it was the last. Ends a pending change of
 * address.
 */
export async function forgetFactorProofs(internals: Internals, userId: string, sessionId?: string): Promise<void> {
  const isKept = sessionId !== undefined && (await hasFactor(internals, userId));
  const where = { userId, ...(isKept ? { id: { not: sessionId } } : {}) };
  await internals.client().session.updateMany({ where, data: { secondFactorAt: null } });
  await dropEmailChange(internals.client(), userId);
}
