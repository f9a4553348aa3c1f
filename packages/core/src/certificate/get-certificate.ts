// Returns the certificate of a domain's host.
import { AppError, type Ctx } from '../kernel/index.ts';
import { certificateView } from './list-certificates.ts';
import { isPublicHost } from './rules.ts';
import type { CertificateRef, DomainCertificate } from './schema.ts';

export interface CertificateConfig {
  /** Directory of the certificate authority; empty: no certificates are ordered. */
  readonly acmeDirectoryUrl: string;
}

export async function getCertificate(
  ctx: Ctx,
  { domainId }: CertificateRef,
  { acmeDirectoryUrl }: CertificateConfig,
): Promise<DomainCertificate> {
  const { tx, organizationId } = ctx;
  const domain = await tx.domain.findFirst({ where: { id: domainId, organizationId }, select: { host: true } });
  if (domain === null) throw new AppError('domain.not_found', { domainId });
  const { host } = domain;
  if (!isPublicHost(host)) return { kind: 'local', certificate: null };
  const row = await tx.certificate.findUnique({ where: { organizationId_host: { organizationId, host } } });
  const kind = row === null && acmeDirectoryUrl === '' ? 'off' : 'public';
  return { kind, certificate: row === null ? null : certificateView(row, ctx.clock.now()) };
}
