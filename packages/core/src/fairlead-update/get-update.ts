// Returns the newest release and the last update of this control plane.
import type { SystemCtx } from '../kernel/index.ts';
import type { ReadFeedFile } from './read-feed.ts';
import type { UpdateOverview } from './schema.ts';
import { hasUpdateRequest, readLastUpdate } from './updater.ts';
import { isNewer } from './versions.ts';

/** Facts of the settings and of the installation. */
export interface UpdateFacts {
  /** Version that runs, such as `0.1.0`. */
  readonly current: string;
  readonly feed: string | null;
  /** Null without a feed. */
  readonly readFeedFile: ReadFeedFile | null;
  /** Keys of which one must have signed a release; a clone has none. */
  readonly publicKeys: readonly string[];
  /** Folder that the updater shares with the control plane; null without one. */
  readonly updaterFolder: string | null;
}

export async function getUpdate(ctx: SystemCtx, facts: UpdateFacts): Promise<UpdateOverview> {
  const { current, feed, publicKeys, updaterFolder } = facts;
  const check = await ctx.tx.updateCheck.findUnique({ where: { id: 'latest' } });
  return {
    current,
    feed,
    method: publicKeys.length === 0 ? 'clone' : updaterFolder === null ? 'command' : 'button',
    checkedAt: check?.checkedAt ?? null,
    checkFailure: check?.failure ?? null,
    available: await findAvailableUpdate(ctx, facts),
    isRequested: updaterFolder !== null && (await hasUpdateRequest(updaterFolder)),
    last: updaterFolder === null ? null : await readLastUpdate(updaterFolder, ctx.clock.now()),
  };
}

/** Without a feed, what an earlier one offered no longer counts. */
export async function findAvailableUpdate(
  { tx }: SystemCtx,
  { current, feed }: Pick<UpdateFacts, 'current' | 'feed'>,
): Promise<UpdateOverview['available']> {
  if (feed === null) return null;
  const check = await tx.updateCheck.findUnique({ where: { id: 'latest' } });
  const { version = null, releasedAt = null, changelog = null } = check ?? {};
  if (version === null || releasedAt === null || changelog === null || !isNewer(version, current)) return null;
  return { version, releasedAt, changelog };
}
