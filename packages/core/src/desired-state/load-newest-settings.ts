// Loads the newest settings of apps, in each of their environments.
import { type Settings, settingsSchema } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';

export interface NewestSettings {
  readonly appId: string;
  readonly environmentId: string;
  readonly settings: Settings;
}

/** An app without changed settings has no row. */
export async function loadNewestSettings(ctx: OrganizationCtx, appIds: readonly string[]): Promise<NewestSettings[]> {
  const rows = await ctx.tx.$queryRaw<{ appId: string; environmentId: string; settings: unknown }[]>`
    SELECT DISTINCT ON (app_id, environment_id) app_id AS "appId", environment_id AS "environmentId", settings
    FROM app_config WHERE organization_id = ${ctx.organizationId} AND app_id = ANY(${[...appIds]})
    ORDER BY app_id, environment_id, number DESC`;
  return rows.map((row) => ({ ...row, settings: settingsSchema.parse(row.settings) }));
}
