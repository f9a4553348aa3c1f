// Updates a service account's role. Its tokens follow at once: they never have more permissions than it.
import { recordAudit } from '../audit/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { memberRoleSchema, type Rights, requireMayAssign } from '../role/index.ts';
import type { ServiceAccountRef, UpdateServiceAccountInput } from './schema.ts';
import { requireServiceAccount } from './store.ts';

export async function updateServiceAccount(
  ctx: Ctx,
  input: UpdateServiceAccountInput,
  own: Rights,
): Promise<ServiceAccountRef> {
  const { serviceAccountId, role } = input;
  const account = await requireServiceAccount(ctx, serviceAccountId);
  await requireMayAssign(ctx, own, { from: memberRoleSchema.parse(account.role), to: role });
  await ctx.tx.serviceAccount.update({ where: { id: serviceAccountId }, data: { role } });
  await recordAudit(ctx, {
    action: 'service_account.update',
    target: { kind: 'service account', id: serviceAccountId, label: account.name },
    before: { role: account.role },
    after: { role },
  });
  return { serviceAccountId };
}
