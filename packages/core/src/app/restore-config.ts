// Saves an earlier version of an app's settings as a new version, so that history only grows.
import { loadRestorable, type RestoreConfigInput, type RestoredConfig } from '../config/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { openConfig, storeConfig } from './config-version.ts';

/**
 * Returns what it left as it is now. The same settings make no new version. Throws config.version_not_found,
 * config.changed_meanwhile, and what updateConfig throws.
 */
export async function restoreConfig(ctx: Ctx, input: RestoreConfigInput): Promise<RestoredConfig> {
  const open = await openConfig(ctx, input);
  const { newest, placement } = open;
  const { number, newestNumber = newest.number } = input;
  if (newestNumber !== newest.number) throw new AppError('config.changed_meanwhile', { number: newest.number });
  const { settings, leftOut } = await loadRestorable(ctx, placement, { number, current: newest.settings });
  const names = leftOut.map(({ name }) => name).sort();
  if (input.leftOut !== undefined && input.leftOut.toSorted().join('\n') !== names.join('\n'))
    throw new AppError('config.changed_meanwhile', { number: newest.number });
  return { ...(await storeConfig(ctx, open, settings, { contentOf: number })), leftOut };
}
