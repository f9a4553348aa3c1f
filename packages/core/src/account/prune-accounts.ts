// Owns how long what happened to accounts is kept. Must never look at what it was.
import type { SystemCtx } from '../kernel/index.ts';

const dayMs = 24 * 60 * 60_000;
export const accountEventsKeptMs = 400 * dayMs;
/** Long enough that nobody's browser still shows an ended session as its own. */
const endedSessionsKeptMs = 7 * dayMs;

export async function pruneAccounts(ctx: SystemCtx): Promise<void> {
  const now = ctx.clock.now().getTime();
  const events = await ctx.tx.$executeRaw`
    DELETE FROM account_event WHERE at < ${new Date(now - accountEventsKeptMs)}`;
  const sessions = await ctx.tx.$executeRaw`
    DELETE FROM session WHERE expires_at < ${new Date(now - endedSessionsKeptMs)}`;
  if (events + sessions > 0)
    ctx.log.info({ events, sessions }, 'old events and ended sessions of accounts were deleted');
}
