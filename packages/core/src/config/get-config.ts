// Returns the settings of an app in one environment, and those that are not deployed yet.
import type { Ctx } from '../kernel/index.ts';
import { type PlacementInput, requirePlacement } from '../placement/index.ts';
import { diffSettings } from './diff-settings.ts';
import type { ConfigView } from './schema.ts';
import { findNewestConfig, loadSettings } from './store.ts';

export async function getConfig(ctx: Ctx, input: PlacementInput): Promise<ConfigView> {
  const { organizationId } = ctx;
  const placement = await requirePlacement(ctx, input);
  const config = await findNewestConfig(ctx, placement);
  const row =
    config.id === null
      ? null
      : await ctx.tx.appConfig.findFirstOrThrow({
          where: { id: config.id, organizationId },
          select: { createdAt: true, authorUserId: true },
        });
  const author =
    row === null || row.authorUserId === null
      ? null
      : await ctx.tx.user.findFirst({ where: { id: row.authorUserId }, select: { name: true } });
  return {
    ...config,
    instances: placement.instances,
    branch: placement.branch,
    deploysPaused: placement.deploysPausedAt !== null,
    environmentId: placement.environmentId,
    environmentName: placement.environmentName,
    createdAt: row?.createdAt ?? null,
    authorName: author?.name ?? null,
    notDeployed: await notDeployed(ctx, placement.liveReleaseId, config.settings),
  };
}

async function notDeployed(
  ctx: Ctx,
  liveReleaseId: string | null,
  settings: ConfigView['settings'],
): Promise<string[]> {
  if (liveReleaseId === null) return [];
  const live = await ctx.tx.release.findFirstOrThrow({
    where: { id: liveReleaseId, organizationId: ctx.organizationId },
    select: { configId: true },
  });
  const of = await loadSettings(ctx, live.configId);
  // They follow the load, not the release.
  const { autoscaling, traffic } = settings;
  return diffSettings({ ...of, autoscaling, traffic }, settings).map(({ name }) => name);
}
