// Owns the change of a service account's role. Its tokens follow at once: they never do more than it may.
import { recordAudit } from '../audit/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { permissionsOfRole, type Rights, wholeOrganization } from '../role/index.ts';
import { requireOwn } from '../token/index.ts';
import type { ServiceAccountRef, UpdateServiceAccountInput } from './schema.ts';
import { requireServiceAccount } from './store.ts';

export async function updateServiceAccount(
  ctx: Ctx,
  input: UpdateServiceAccountInput,
  own: Rights,
): Promise<ServiceAccountRef> {
  const { serviceAccountId, role } = input;
  const account = await requireServiceAccount(ctx, serviceAccountId);
  requireOwn(own, await permissionsOfRole(ctx, role), wholeOrganization);
  await ctx.tx.serviceAccount.update({ where: { id: serviceAccountId }, data: { role } });
  await recordAudit(ctx, {
    action: 'service_account.update',
    target: { kind: 'service account', id: serviceAccountId, label: account.name },
    before: { role: account.role },
    after: { role },
  });
  return { serviceAccountId };
}
