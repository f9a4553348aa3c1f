// Deletes old account events, and the records of strangers' sign-in attempts. It never reads the events themselves.
import type { SystemCtx } from '../kernel/index.ts';

const dayMs = 24 * 60 * 60_000;
export const accountEventsKeptMs = 400 * dayMs;
/** Retention of ended sessions: long enough that no open browser still lists one as its own. */
const endedSessionsKeptMs = 7 * dayMs;
/** Same time as identity's limit of attempts remembers one. */
const signInAttemptsKeptMs = dayMs;

export async function pruneAccounts(ctx: SystemCtx): Promise<void> {
  const now = ctx.clock.now().getTime();
  const events = await ctx.tx.$executeRaw`
    DELETE FROM account_event WHERE at < ${new Date(now - accountEventsKeptMs)}`;
  const sessions = await ctx.tx.$executeRaw`
    DELETE FROM session WHERE expires_at < ${new Date(now - endedSessionsKeptMs)}`;
  const attempts = await ctx.tx.$executeRaw`
    DELETE FROM sign_in_attempt
    WHERE counted_at < ${new Date(now - signInAttemptsKeptMs)} AND open_at < ${new Date(now)}`;
  const verifications = await ctx.tx.$executeRaw`DELETE FROM verification WHERE expires_at < ${new Date(now)}`;
  if (events + sessions + attempts + verifications > 0)
    ctx.log.info({ events, sessions, attempts, verifications }, 'outdated rows of accounts were deleted');
}
