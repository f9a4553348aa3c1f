// Fresh sessions: the time that a confirmation of identity counts for sensitive actions.
import { AppError } from '@fairlead/contract/errors';
import type { Session } from './create-auth.ts';

const freshMs = 15 * 60_000;

export function freshUntilOf(session: {
  readonly createdAt: Date;
  readonly confirmedAt?: Date | null | undefined;
}): Date {
  return new Date((session.confirmedAt ?? session.createdAt).getTime() + freshMs);
}

/** Throws session.not_fresh; the dashboard then shows a dialog for the password or passkey. */
export function requireFresh(session: Pick<Session, 'freshUntil'>, now: Date): void {
  if (session.freshUntil <= now) throw new AppError('session.not_fresh');
}
