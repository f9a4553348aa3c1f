// Deletes a service account and its tokens.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { memberRoleSchema, type Rights, requireMayAssign } from '../role/index.ts';
import type { DeleteServiceAccountInput, ServiceAccountRef } from './schema.ts';
import { requireServiceAccount } from './store.ts';

/** Nobody ends a machine that may do more than they do. Throws role.beyond_own. */
export async function deleteServiceAccount(
  ctx: Ctx,
  input: DeleteServiceAccountInput,
  own: Rights,
): Promise<ServiceAccountRef> {
  const { serviceAccountId } = input;
  const { name, role } = await requireServiceAccount(ctx, serviceAccountId);
  await requireMayAssign(ctx, own, { from: memberRoleSchema.parse(role), to: null });
  if (name !== input.confirmName.trim()) throw new AppError('service_account.confirm_mismatch', { serviceAccountId });
  await ctx.tx.serviceAccount.delete({ where: { id: serviceAccountId } });
  await recordAudit(ctx, {
    action: 'service_account.delete',
    target: { kind: 'service account', id: serviceAccountId, label: name },
    before: { name, role },
  });
  return { serviceAccountId };
}
