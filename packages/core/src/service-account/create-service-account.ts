// Creates a service account.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import { permissionsOfRole, type Rights, wholeOrganization } from '../role/index.ts';
import { requireOwn } from '../token/index.ts';
import type { CreateServiceAccountInput, ServiceAccountRef } from './schema.ts';

/** Nobody makes a machine that may do more than they do. */
export async function createServiceAccount(
  ctx: Ctx,
  input: CreateServiceAccountInput,
  own: Rights,
): Promise<ServiceAccountRef> {
  requireOwn(own, await permissionsOfRole(ctx, input.role), wholeOrganization);
  const serviceAccountId = newId('sva');
  const { name, role } = input;
  try {
    await ctx.tx.serviceAccount.create({
      data: {
        id: serviceAccountId,
        organizationId: ctx.organizationId,
        name,
        role,
        createdAt: ctx.clock.now(),
      },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('service_account.name_taken', { name }, { cause: error });
    throw error;
  }
  await recordAudit(ctx, {
    action: 'service_account.create',
    target: { kind: 'service account', id: serviceAccountId, label: name },
    after: { name, role },
  });
  return { serviceAccountId };
}
