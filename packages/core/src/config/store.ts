// Reads versions of settings. Stored ones are parsed again: a setting that is newer than a version has its default.
import { type ConfigId, parseId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import { defaultSettings, type Settings, settingsSchema } from './schema.ts';

export interface StoredConfig {
  /** Null: the settings were never changed. */
  readonly id: ConfigId | null;
  readonly number: number;
  readonly settings: Settings;
}

/** The newest settings of an app in an environment; with `before`, those of that moment. */
export async function findNewestConfig(
  ctx: OrganizationCtx,
  placement: { readonly appId: string; readonly environmentId: string; readonly before?: Date },
): Promise<StoredConfig> {
  const { appId, environmentId, before } = placement;
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

/** Finds a version of an app's settings in an environment by its number. */
export async function findConfigVersion(
  ctx: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
  number: number,
): Promise<{ readonly id: ConfigId; readonly createdAt: Date; readonly settings: Settings } | null> {
  const row = await ctx.tx.appConfig.findFirst({
    where: { appId, environmentId, organizationId: ctx.organizationId, number },
    select: { id: true, settings: true, createdAt: true },
  });
  return row === null ? null : { ...row, id: parseId('cfg', row.id), settings: settingsSchema.parse(row.settings) };
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
