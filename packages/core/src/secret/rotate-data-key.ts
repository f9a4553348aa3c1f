// Rotates an organization's data key: the new one encrypts from now on, and the worker re-encrypts older values.
import { recordAudit } from '../audit/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { makeActive, type SecretKeys } from './data-key.ts';

/** Waits for writers that hold the old key, so that the re-encryption sees every value under it. */
export async function rotateDataKey(ctx: Ctx, keys: SecretKeys): Promise<{ keyId: string }> {
  const { organizationId } = ctx;
  await ctx.tx.dataKey.updateMany({ where: { organizationId, retiredAt: null }, data: { retiredAt: ctx.clock.now() } });
  const { id } = await makeActive(ctx, keys.wrapper);
  await recordAudit(ctx, {
    action: 'secret.rotate_key',
    target: { kind: 'data_key', id, label: 'Data key' },
  });
  return { keyId: id };
}
