// Orders the certificate of a domain's host at once instead of at its next attempt.
// Invariant: the authority's rate limits, and a pause of one minute, hold for everybody.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { certificateView } from './list-certificates.ts';
import type { CertificateRef, CertificateView } from './schema.ts';

const pauseMs = 60_000;

/** Throws domain.not_found, certificate.not_found and certificate.too_soon. */
export async function retryCertificate(ctx: Ctx, { domainId }: CertificateRef): Promise<CertificateView> {
  const { tx, organizationId } = ctx;
  const domain = await tx.domain.findFirst({ where: { id: domainId, organizationId }, select: { host: true } });
  if (domain === null) throw new AppError('domain.not_found', { domainId });
  const where = { organizationId_host: { organizationId, host: domain.host } };
  const before = await tx.certificate.findUnique({ where });
  if (before === null) throw new AppError('certificate.not_found', { host: domain.host });
  const now = ctx.clock.now();
  if (before.orderServerId !== null) return certificateView(before, now);
  const isLimited = before.failureCode === 'certificate.rate_limited' && (before.nextAttemptAt ?? now) > now;
  const isFresh = before.failedAt !== null && now.getTime() - before.failedAt.getTime() < pauseMs;
  if (isLimited || isFresh) throw new AppError('certificate.too_soon', { host: domain.host });
  const after = await tx.certificate.update({ where, data: { nextAttemptAt: null } });
  await recordAudit(ctx, {
    action: 'certificate.retry',
    target: { kind: 'certificate', id: before.id, label: before.host },
  });
  await notifyChange(ctx, { kind: 'certificate', id: before.id });
  return certificateView(after, now);
}
