// Requests a check of a host's DNS records at once.
import { AppError, type Ctx, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { appChange } from './conflicts.ts';
import { requireHostOf } from './proofs.ts';
import type { HostRef } from './schema.ts';

/** Minimum time between two checks on demand. */
export const demandPauseMs = 3_000;

export async function verifyHost(ctx: Ctx, { domainId }: HostRef): Promise<HostRef> {
  const { host, appId } = await requireHostOf(ctx, domainId);
  await hastenCheck(ctx, host);
  await notifyChange(ctx, appChange(appId));
  return { domainId };
}

/** Throws domain.not_public for a host that is never checked. */
export async function hastenCheck({ tx, organizationId, clock }: OrganizationCtx, host: string): Promise<void> {
  const now = clock.now();
  const row = await tx.domainHost.findUnique({ where: { organizationId_host: { organizationId, host } } });
  if (row === null) throw new AppError('domain.not_public', { host });
  const earliestMs = (row.checkedAt?.getTime() ?? 0) + demandPauseMs;
  const nextCheckAt = new Date(Math.max(now.getTime(), earliestMs));
  // The short intervals of a new domain start again: a person waits for the result.
  await tx.domainHost.updateMany({ where: { organizationId, host }, data: { nextCheckAt, stateSince: now } });
}
