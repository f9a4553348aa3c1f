// Owns the end of a service account and of its tokens.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { DeleteServiceAccountInput, ServiceAccountRef } from './schema.ts';
import { requireServiceAccount } from './store.ts';

export async function deleteServiceAccount(ctx: Ctx, input: DeleteServiceAccountInput): Promise<ServiceAccountRef> {
  const { serviceAccountId } = input;
  const { name, role } = await requireServiceAccount(ctx, serviceAccountId);
  if (name !== input.confirmName.trim()) throw new AppError('service_account.confirm_mismatch', { serviceAccountId });
  await ctx.tx.serviceAccount.delete({ where: { id: serviceAccountId } });
  await recordAudit(ctx, {
    action: 'service_account.delete',
    target: { kind: 'service account', id: serviceAccountId, label: name },
    before: { name, role },
  });
  return { serviceAccountId };
}
