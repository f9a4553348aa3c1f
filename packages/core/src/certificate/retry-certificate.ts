// Orders the certificate of a domain's host at once instead of at its next attempt or renewal.
// Invariant: the authority's rate limits, and a pause of one minute, hold for everyone.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { type CertifiedHost, findServing } from './base-domains.ts';
import { certificateView } from './certificate-view.ts';
import type { CertificateRef, CertificateView } from './schema.ts';

const pauseMs = 60_000;

/** Throws domain.not_found, certificate.not_found and certificate.too_soon. */
export async function retryCertificate(ctx: Ctx, { domainId }: CertificateRef): Promise<CertificateView> {
  const { tx, organizationId } = ctx;
  const domain = await tx.domain.findFirst({
    where: { id: domainId, organizationId },
    select: { host: true, automatic: true },
  });
  if (domain === null) throw new AppError('domain.not_found', { domainId });
  return retryHostCertificate(ctx, domain);
}

/** The same for any host that has a certificate. */
export async function retryHostCertificate(
  ctx: Parameters<typeof recordAudit>[0],
  domain: CertifiedHost,
): Promise<CertificateView> {
  const { tx, organizationId } = ctx;
  const before = await findServing(ctx, domain);
  if (before === null) throw new AppError('certificate.not_found', { host: domain.host });
  const now = ctx.clock.now();
  if (before.orderServerId !== null) return certificateView(before, now);
  const isLimited = before.failureCode === 'certificate.rate_limited' && (before.nextAttemptAt ?? now) > now;
  const isFresh = before.failedAt !== null && now.getTime() - before.failedAt.getTime() < pauseMs;
  // The pause after a success, so that a loop of renewals does not use up the authority's limit.
  const isNew = before.failedAt === null && before.keyId !== null && (before.nextAttemptAt ?? now) > now;
  if (isLimited || isFresh || isNew) throw new AppError('certificate.too_soon', { host: domain.host });
  const renewAt = before.renewAt !== null && before.renewAt > now ? now : before.renewAt;
  const after = await tx.certificate.update({
    where: { id: before.id, organizationId },
    data: { nextAttemptAt: null, renewAt },
  });
  await recordAudit(ctx, {
    action: 'certificate.retry',
    target: { kind: 'certificate', id: before.id, label: before.host },
  });
  await notifyChange(ctx, { kind: 'certificate', id: before.id });
  return certificateView(after, now);
}
