// Deletes a secret group. Its versions stay, encrypted, for the releases that run with them.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, withDeletedApps } from '../kernel/index.ts';
import type { SecretGroupRef } from './schema.ts';
import { lockShelf } from './store.ts';

/** Throws secret.group_in_use while an app is attached. */
export async function deleteSecretGroup(ctx: Ctx, input: SecretGroupRef): Promise<SecretGroupRef> {
  const { groupId } = input;
  await lockShelf(ctx, { groupId });
  const group = await withDeletedApps(ctx, () =>
    ctx.tx.secretGroup.findFirstOrThrow({
      where: { id: groupId, organizationId: ctx.organizationId },
      select: { name: true, apps: { select: { appId: true } } },
    }),
  );
  if (group.apps.length > 0) throw new AppError('secret.group_in_use', { groupId, apps: group.apps.length });
  await ctx.tx.secretGroup.update({ where: { id: groupId }, data: { deletedAt: ctx.clock.now() } });
  await recordAudit(ctx, {
    action: 'secret.delete_group',
    target: { kind: 'secret_group', id: groupId, label: group.name },
  });
  return { groupId: parseId('scg', groupId) };
}
