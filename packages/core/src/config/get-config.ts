// Returns the settings of an app in one environment, and those that are not deployed yet.
import type { Ctx } from '../kernel/index.ts';
import { diffSettings } from './diff-settings.ts';
import type { ConfigView, PlaceInput } from './schema.ts';
import { findNewestConfig, loadSettings, requirePlace } from './store.ts';

export async function getConfig(ctx: Ctx, input: PlaceInput): Promise<ConfigView> {
  const { organizationId } = ctx;
  const place = await requirePlace(ctx, input);
  const config = await findNewestConfig(ctx, place);
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
    instances: place.instances,
    branch: place.branch,
    deploysPaused: place.deploysPausedAt !== null,
    environmentId: place.environmentId,
    environmentName: place.environmentName,
    createdAt: row?.createdAt ?? null,
    authorName: author?.name ?? null,
    notDeployed: await notDeployed(ctx, place.liveReleaseId, config.settings),
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
