// Returns one ordered or uploaded certificate with its history.
import { X509Certificate } from 'node:crypto';
import { isId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';
import { wholeReach } from '../role/index.ts';
import { entriesSql } from './list-certificates.ts';
import { type EntryKey, loadEntries } from './load-entries.ts';
import { describeKey } from './read-upload.ts';
import { type CertificateDetail, type CertificateDetailRef, certificateEventKindSchema } from './schema.ts';

/** Throws certificate.missing. */
export async function getCertificateDetail(
  ctx: Ctx,
  { certificateId }: CertificateDetailRef,
): Promise<CertificateDetail> {
  const { tx, organizationId } = ctx;
  const keys = await tx.$queryRaw<EntryKey[]>`
    SELECT id, source, state FROM (${entriesSql(ctx, wholeReach)}) AS entry WHERE id = ${certificateId}`;
  const [entry] = await loadEntries(ctx, keys, wholeReach);
  if (entry === undefined) throw new AppError('certificate.missing', { certificateId });
  const isUpload = isId('ucr', certificateId);
  const where = { id: certificateId, organizationId };
  const stored = isUpload
    ? await tx.uploadedCertificate.findUniqueOrThrow({ where, select: { chain: true } })
    : await tx.certificate.findUniqueOrThrow({ where, select: { chain: true } });
  const events = await tx.certificateEvent.findMany({
    where: { organizationId, ...(isUpload ? { uploadedCertificateId: certificateId } : { certificateId }) },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
  return {
    ...entry,
    leaf: leafOf(stored.chain[0]),
    events: events.map(({ id, kind, detail, createdAt }) => ({
      id,
      kind: certificateEventKindSchema.parse(kind),
      detail,
      createdAt,
    })),
  };
}

function leafOf(der: Uint8Array | undefined): CertificateDetail['leaf'] {
  if (der === undefined) return null;
  const leaf = new X509Certificate(der);
  return { fingerprint: leaf.fingerprint256, serialNumber: leaf.serialNumber, key: describeKey(leaf.publicKey) };
}
