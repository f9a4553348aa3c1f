// Owns the one live stream of a page. It ends when the session or the membership does, and never holds a transaction.
import type { LiveEvent } from '@fairlead/contract/live';
import { AppError } from '@fairlead/core/kernel';
import { requireTopics } from '@fairlead/core/live';
import { can } from '@fairlead/core/role';
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
      const { member, signedIn } = ctx;
      const organizationSlug = member.organizationSlug;
      const { organizationId } = member;
      await ctx.database.tenant(organizationId, (tx) =>
        requireTopics({ tx, organizationId, clock: ctx.clock, log: ctx.log }, { topics: input.topics }),
      );

      const ended = new AbortController();
      const stop = AbortSignal.any(signal === undefined ? [ended.signal] : [signal, ended.signal]);
      const timer = setInterval(() => {
        stillAllowed().then(
          (allowed) => {
            if (!allowed) ended.abort(new AppError('session.required'));
          },
          (error: unknown) => ended.abort(error),
        );
      }, recheckMs);

      async function stillAllowed(): Promise<boolean> {
        const session = await ctx.auth.readSession(ctx.headers);
        if (session === null || session.user.id !== signedIn.user.id) return false;
        const now = await readMember(ctx, session.user.id, organizationSlug);
        return now !== null && can(now.role, 'app.read');
      }

      try {
        yield* ctx.live.subscribe({ organizationId, topics: input.topics, signal: stop });
        if (ended.signal.aborted) throw ended.signal.reason;
      } catch (error) {
        if (signal?.aborted) return;
        throw toTrpcError(ended.signal.aborted ? ended.signal.reason : error, ctx.log, 'live.watch');
      } finally {
        clearInterval(timer);
        ended.abort();
      }
    }),
});
