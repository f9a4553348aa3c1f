// Returns the certificate of a domain's host.
import { AppError, type Ctx, isPublicHost, type OrganizationCtx } from '../kernel/index.ts';
import { type CertifiedHost, findServing } from './base-domains.ts';
import { certificateView } from './certificate-view.ts';
import { uploadFacts } from './load-entries.ts';
import type { CertificateRef, DomainCertificate } from './schema.ts';
import { findUploadOf } from './uploads.ts';

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
  const domain = await tx.domain.findFirst({
    where: { id: domainId, organizationId },
    select: { host: true, automatic: true },
  });
  if (domain === null) throw new AppError('domain.not_found', { domainId });
  if (!isPublicHost(domain.host)) return { kind: 'local', certificate: null };
  return readHostCertificate(ctx, domain, acmeDirectoryUrl);
}

/** Returns the leaf that servers of a host serve, DER; null without a valid certificate. */
export async function findServedLeaf(ctx: OrganizationCtx, host: string): Promise<Uint8Array | null> {
  const { tx, organizationId, clock } = ctx;
  const now = clock.now();
  const upload = await findUploadOf(ctx, host);
  if (upload !== null && upload.notAfter > now) return upload.chain[0] ?? null;
  const row = await tx.certificate.findUnique({ where: { organizationId_host: { organizationId, host } } });
  return row?.keyId != null && row.notAfter !== null && row.notAfter > now ? (row.chain[0] ?? null) : null;
}

/** Returns the certificate of a public host. */
export async function readHostCertificate(
  ctx: OrganizationCtx,
  { host, automatic }: CertifiedHost,
  acmeDirectoryUrl: string,
): Promise<DomainCertificate> {
  const row = await findServing(ctx, { host, automatic });
  const now = ctx.clock.now();
  const upload = await findUploadOf(ctx, host);
  if (upload !== null && (upload.notAfter > now || row?.keyId == null)) {
    const state = upload.notAfter > now ? 'issued' : 'expired';
    return { kind: 'upload', certificate: { ...uploadFacts(upload), state } };
  }
  const kind = row === null && acmeDirectoryUrl === '' ? 'off' : 'public';
  return { kind, certificate: row === null ? null : certificateView(row, now) };
}
