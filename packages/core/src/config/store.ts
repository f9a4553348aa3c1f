// Reads versions of settings. Stored ones are parsed again: a setting that is newer than a version has its default.
import { type ConfigId, type EnvironmentId, parseId, type ServerId } from '@fairlead/contract/ids';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { defaultSettings, type PlaceInput, type Settings, settingsSchema } from './schema.ts';

export interface StoredConfig {
  /** Null: the settings were never changed. */
  readonly id: ConfigId | null;
  readonly number: number;
  readonly settings: Settings;
}

/** The newest settings of an app in an environment; with `before`, those of that moment. */
export async function findNewestConfig(
  ctx: OrganizationCtx,
  place: { readonly appId: string; readonly environmentId: string; readonly before?: Date },
): Promise<StoredConfig> {
  const { appId, environmentId, before } = place;
  const row = await ctx.tx.appConfig.findFirst({
    where: {
      appId,
      environmentId,
      organizationId: ctx.organizationId,
      ...(before === undefined ? {} : { createdAt: { lt: before } }),
    },
    select: { id: true, number: true, settings: true },
    orderBy: { number: 'desc' },
  });
  if (row === null) return { id: null, number: 0, settings: defaultSettings };
  return { id: parseId('cfg', row.id), number: row.number, settings: settingsSchema.parse(row.settings) };
}

/** Returns the settings of that version; null: the defaults. */
export async function loadSettings(ctx: OrganizationCtx, configId: string | null): Promise<Settings> {
  if (configId === null) return defaultSettings;
  const row = await ctx.tx.appConfig.findFirstOrThrow({
    where: { id: configId, organizationId: ctx.organizationId },
    select: { settings: true },
  });
  return settingsSchema.parse(row.settings);
}

export interface Place {
  readonly appId: string;
  readonly environmentId: EnvironmentId;
  readonly environmentName: string;
  readonly appName: string;
  readonly branch: string;
  readonly instances: number;
  readonly deploysPausedAt: Date | null;
  /** The first server's. */
  readonly liveReleaseId: string | null;
  /** The first one first. */
  readonly servers: readonly PlacedServer[];
}

export interface PlacedServer {
  readonly serverId: ServerId;
  readonly liveReleaseId: string | null;
}

/** An app where it runs: in the environment that is named, else in that where it was made. Throws app.not_found. */
export async function requirePlace(ctx: OrganizationCtx, { appId, environmentId }: PlaceInput): Promise<Place> {
  const rows = await ctx.tx.placement.findMany({
    where: { appId, organizationId: ctx.organizationId, ...(environmentId === undefined ? {} : { environmentId }) },
    select: {
      environmentId: true,
      serverId: true,
      branch: true,
      instances: true,
      deploysPausedAt: true,
      liveReleaseId: true,
      app: { select: { name: true } },
      environment: { select: { name: true } },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const [first] = rows;
  if (first === undefined) throw new AppError('app.not_found', { appId });
  return {
    appId,
    environmentId: parseId('env', first.environmentId),
    environmentName: first.environment.name,
    appName: first.app.name,
    branch: first.branch,
    instances: first.instances,
    deploysPausedAt: first.deploysPausedAt,
    liveReleaseId: first.liveReleaseId,
    servers: rows
      .filter((row) => row.environmentId === first.environmentId)
      .map((row) => ({ serverId: parseId('srv', row.serverId), liveReleaseId: row.liveReleaseId })),
  };
}
