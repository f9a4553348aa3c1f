// Stores what a check of the feed found, and decides when the next one is due.
import type { SystemCtx } from '../kernel/index.ts';
import type { FeedCheck } from './read-feed.ts';

const CHECK_PERIOD_MS = 24 * 60 * 60_000;

/** A failure keeps the release that an earlier check found. */
export async function recordUpdateCheck({ tx, clock }: SystemCtx, { release, failure }: FeedCheck): Promise<void> {
  const found = { checkedAt: clock.now(), failure, ...release };
  await tx.updateCheck.upsert({ where: { id: 'latest' }, create: found, update: found });
}

export async function isUpdateCheckDue({ tx, clock }: SystemCtx): Promise<boolean> {
  const last = await tx.updateCheck.findUnique({ where: { id: 'latest' }, select: { checkedAt: true } });
  return last === null || clock.now().getTime() - last.checkedAt.getTime() >= CHECK_PERIOD_MS;
}
