// Owns the one live stream of a page. It ends when the session or the membership does, and never holds a transaction.
import type { LiveEvent } from '@fairlead/contract/live';
import { AppError } from '@fairlead/core/kernel';
import { requireTopics } from '@fairlead/core/live';
import type { ActiveMember } from '@fairlead/core/member';
import { can } from '@fairlead/core/role';
import type { ApiContext } from '../context.ts';
import { toTrpcError } from '../errors.ts';
import { memberStream, readMember, router } from '../ladder.ts';
import { watchInputSchema, watchOutputSchema } from '../live-schema.ts';

/** How long somebody who lost access may go on watching. */
const recheckMs = 15_000;

export const liveRouter = router({
  watch: memberStream('app.read')
    .input(watchInputSchema)
    .output(watchOutputSchema)
    .subscription(async function* ({ ctx, input, signal }): AsyncGenerator<LiveEvent, void> {
      const { member } = ctx;
      const { organizationId } = member;
      const { topics } = input;
      const ended = new AbortController();
      const timer = setInterval(() => {
        requireAccess(ctx, member).catch((error: unknown) => ended.abort(error));
      }, recheckMs);
      const stop = AbortSignal.any(signal === undefined ? [ended.signal] : [signal, ended.signal]);
      // The ladder maps what a procedure throws before it answers; a stream throws after that, so it maps by itself.
      try {
        await ctx.database.tenant(organizationId, (tx) =>
          requireTopics({ tx, organizationId, clock: ctx.clock, log: ctx.log }, { topics }),
        );
        yield* ctx.live.subscribe({ organizationId, topics, signal: stop });
        ended.signal.throwIfAborted();
      } catch (error) {
        if (signal?.aborted) return;
        throw toTrpcError(ended.signal.aborted ? ended.signal.reason : error, ctx.log, 'live.watch');
      } finally {
        clearInterval(timer);
        ended.abort();
      }
    }),
});

async function requireAccess(ctx: ApiContext, member: ActiveMember): Promise<void> {
  const session = await ctx.auth.readSession(ctx.headers);
  if (session === null || session.user.id !== member.userId) throw new AppError('session.required');
  const now = await readMember(ctx, member.userId, member.organizationSlug);
  if (now === null) throw new AppError('organization.not_found');
  if (!can(now.role, 'app.read')) throw new AppError('permission.denied');
}
