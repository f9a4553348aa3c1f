// Returns the settings of an app in one environment, and those that are not deployed yet.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { type PlacementInput, requirePlacement } from '../placement/index.ts';
import { diffSettings } from './diff-settings.ts';
import { settingsInEffect } from './rules.ts';
import type { ConfigView } from './schema.ts';
import { hideSecretValues } from './secret-names.ts';
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
  const live = await loadLive(ctx, placement.liveReleaseId, config.settings);
  const notDeployed = live === null ? [] : diffSettings(live.settings, config.settings).map(({ name }) => name);
  return {
    ...config,
    instances: placement.instances,
    branch: placement.branch,
    deploysPaused: placement.deploysPausedAt !== null,
    environmentId: placement.environmentId,
    environmentName: placement.environmentName,
    createdAt: row?.createdAt ?? null,
    authorName: author?.name ?? null,
    notDeployed,
    live:
      live === null
        ? null
        : {
            ...live,
            settings: await hideSecretValues(ctx, placement, { settings: live.settings, newest: config.settings }),
          },
  };
}

async function loadLive(
  ctx: Ctx,
  liveReleaseId: string | null,
  newest: ConfigView['settings'],
): Promise<ConfigView['live']> {
  if (liveReleaseId === null) return null;
  const { config } = await ctx.tx.release.findFirstOrThrow({
    where: { id: liveReleaseId, organizationId: ctx.organizationId },
    select: { config: { select: { id: true, number: true } } },
  });
  const deployment = await ctx.tx.deployment.findFirst({
    where: { releaseId: liveReleaseId, organizationId: ctx.organizationId },
    select: { id: true },
    orderBy: { queuedAt: 'desc' },
  });
  const ofRelease = await loadSettings(ctx, config?.id ?? null);
  return {
    number: config?.number ?? 0,
    settings: settingsInEffect(ofRelease, newest),
    deploymentId: deployment === null ? null : parseId('dep', deployment.id),
  };
}
