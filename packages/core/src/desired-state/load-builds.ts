// Loads the builds that run on a server, with the source of each.
import { runCommandsIn, type Settings } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { buildSourceOf } from '../source/index.ts';
import { loadNewestSettings } from './load-newest-settings.ts';
import { settingsOf } from './stored-release.ts';

export interface LoadedBuild {
  readonly deploymentId: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly repositoryUrl: string;
  readonly rootFolder: string;
  readonly ref: string;
  readonly origin: unknown;
  readonly uploadDigest: string | null;
  readonly withoutCache: boolean;
  readonly buildSnapshotId: string | null;
  readonly settings: Settings;
  readonly source: ReturnType<typeof buildSourceOf>;
  readonly startCommand: readonly string[];
  /** Commands in the newest settings of all environments, a line each. */
  readonly runCommands: readonly string[];
}

export async function loadBuilds(ctx: OrganizationCtx, serverId: string): Promise<LoadedBuild[]> {
  const { tx, organizationId } = ctx;
  const rows = await tx.deployment.findMany({
    where: { organizationId, buildServerId: serverId, state: 'building' },
    select: {
      id: true,
      appId: true,
      environmentId: true,
      ref: true,
      origin: true,
      uploadDigest: true,
      withoutCache: true,
      buildSnapshotId: true,
      config: { select: { settings: true } },
      app: { select: { repositoryUrl: true, rootFolder: true, command: true } },
    },
    orderBy: { id: 'asc' },
  });
  const newest = await loadNewestSettings(ctx, [...new Set(rows.map(({ appId }) => appId))]);
  return rows.map(({ id, config, app, ...row }) => {
    const settings = settingsOf(config);
    const { repositoryUrl, rootFolder } = app;
    const startCommand = settings.startCommand.length > 0 ? settings.startCommand : app.command;
    const all = newest.filter(({ appId }) => appId === row.appId).map((each) => each.settings);
    return {
      ...row,
      deploymentId: id,
      repositoryUrl,
      rootFolder,
      settings,
      source: buildSourceOf({ settings, repositoryUrl, uploadDigest: row.uploadDigest }),
      startCommand,
      runCommands: runCommandsIn(all, startCommand),
    };
  });
}
