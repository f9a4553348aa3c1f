// Finds a service account and locks it until the transaction ends, so that its role stays the checked one.
import { AppError, type Ctx } from '../kernel/index.ts';
import { loadRoleRights, type Rights } from '../role/index.ts';

interface LockedAccount {
  readonly name: string;
  readonly role: string;
  readonly rights: Rights;
}

export async function requireServiceAccount(ctx: Ctx, serviceAccountId: string): Promise<LockedAccount> {
  const [row] = await ctx.tx.$queryRaw<{ name: string; role: string }[]>`
    SELECT name, role FROM service_account
    WHERE id = ${serviceAccountId} AND organization_id = ${ctx.organizationId} FOR NO KEY UPDATE`;
  if (row === undefined) throw new AppError('service_account.not_found', { serviceAccountId });
  return { ...row, rights: await loadRoleRights(ctx, { organizationId: ctx.organizationId, role: row.role }) };
}
