// Schedules the deletion of an organization, and cancels it. Nothing is lost before the delay is over; then the worker
// deletes it (end-organization.ts).
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { deletionDelayMs } from './rules.ts';
import type { DeleteOrganizationInput } from './schema.ts';

export async function deleteOrganization(ctx: Ctx, input: DeleteOrganizationInput): Promise<{ deleteAt: Date }> {
  const { name, deleteAt: announced } = await lockOrganization(ctx);
  if (name !== input.confirmName.trim()) throw new AppError('organization.confirm_mismatch');
  if (announced !== null) throw new AppError('organization.deletion_pending');
  const local = await ctx.tx.server.findFirst({
    where: { organizationId: ctx.organizationId, isLocal: true },
    select: { id: true },
  });
  // Its agent belongs to the control plane itself, which would be left without one.
  if (local !== null) throw new AppError('organization.has_local_server');
  const deleteAt = new Date(ctx.clock.now().getTime() + deletionDelayMs);
  await setDeleteAt(ctx, deleteAt);
  await recordAudit(ctx, {
    action: 'organization.delete',
    target: { kind: 'organization', id: ctx.organizationId, label: name },
    before: { deleteAt: null },
    after: { deleteAt: deleteAt.toISOString() },
  });
  return { deleteAt };
}

/** Throws organization.deletion_not_pending, also once the end has begun: apps are being stopped then. */
export async function restoreOrganization(ctx: Ctx): Promise<{ deleteAt: null }> {
  const { name, deleteAt, endingAt } = await lockOrganization(ctx);
  if (deleteAt === null || endingAt !== null) throw new AppError('organization.deletion_not_pending');
  await setDeleteAt(ctx, null);
  await recordAudit(ctx, {
    action: 'organization.restore',
    target: { kind: 'organization', id: ctx.organizationId, label: name },
    before: { deleteAt: deleteAt.toISOString() },
    after: { deleteAt: null },
  });
  return { deleteAt: null };
}

interface LockedOrganization {
  readonly name: string;
  readonly deleteAt: Date | null;
  readonly endingAt: Date | null;
}

/** Locks the organization, so that the start of its deletion and a cancellation never overlap. */
async function lockOrganization(ctx: Ctx): Promise<LockedOrganization> {
  const [organization] = await ctx.tx.$queryRaw<LockedOrganization[]>`
    SELECT name, delete_at AS "deleteAt", ending_at AS "endingAt" FROM organization
    WHERE id = ${ctx.organizationId} FOR NO KEY UPDATE`;
  if (organization === undefined) throw new AppError('organization.not_found');
  return organization;
}

async function setDeleteAt(ctx: Ctx, deleteAt: Date | null): Promise<void> {
  await ctx.tx.organization.update({ where: { id: ctx.organizationId }, data: { deleteAt } });
  await notifyChange(ctx, { kind: 'organization', id: ctx.organizationId });
}
