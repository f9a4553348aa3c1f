// Changes settings of an app in one environment.
import { type ConfigRef, settingsSchema, type UpdateConfigInput } from '../config/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { openConfig, storeConfig } from './config-version.ts';

/** Changes what is given. The same settings make no new version. Throws approval.in_review and preview.inherited. */
export async function updateConfig(ctx: Ctx, input: UpdateConfigInput): Promise<ConfigRef> {
  const open = await openConfig(ctx, input);
  const given = Object.fromEntries(Object.entries(input.settings).filter(([, value]) => value !== undefined));
  return storeConfig(ctx, open, settingsSchema.parse({ ...open.newest.settings, ...given }));
}
