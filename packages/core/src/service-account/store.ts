// Owns finding a service account, locked until the transaction ends, so that its role stays what was looked at.
import { AppError, type Ctx } from '../kernel/index.ts';
import { type Role, roleSchema } from '../role/index.ts';

export async function requireServiceAccount(ctx: Ctx, serviceAccountId: string): Promise<{ name: string; role: Role }> {
  const [row] = await ctx.tx.$queryRaw<{ name: string; role: string }[]>`
    SELECT name, role FROM service_account
    WHERE id = ${serviceAccountId} AND organization_id = ${ctx.organizationId} FOR NO KEY UPDATE`;
  if (row === undefined) throw new AppError('service_account.not_found', { serviceAccountId });
  return { name: row.name, role: roleSchema.parse(row.role) };
}
