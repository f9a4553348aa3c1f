// Deletes a secret. Its versions stay, encrypted, for the releases that run with them and for a restore.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import type { SecretRef } from './schema.ts';
import { lockSecret } from './store.ts';

/** Deletes a secret. Running releases keep it until the next deployment. */
export async function deleteSecret(ctx: Ctx, input: SecretRef): Promise<SecretRef> {
  const secret = await lockSecret(ctx, input.secretId);
  await ctx.tx.secret.update({ where: { id: secret.id }, data: { deletedAt: ctx.clock.now() } });
  await recordAudit(ctx, {
    action: 'secret.delete',
    target: { kind: 'secret', id: secret.id, label: secret.name },
    before: { app: secret.appId, group: secret.groupId, version: secret.number },
  });
  await notifyChange(ctx, {
    kind: 'app',
    id: secret.appId ?? secret.id,
    ...(secret.appId === null ? {} : { appId: secret.appId }),
  });
  return { secretId: parseId('sec', secret.id) };
}
