// Deletes an uploaded certificate with its key. Its hosts return to ordered certificates.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { UploadedCertificateRef } from './schema.ts';
import { deleteKey } from './store.ts';
import { bumpServersOfNames } from './uploads.ts';

/** Throws certificate.missing. */
export async function deleteCertificate(
  ctx: Ctx,
  { certificateId }: UploadedCertificateRef,
): Promise<UploadedCertificateRef> {
  const { tx, organizationId } = ctx;
  const where = { id: certificateId, organizationId };
  const before = await tx.uploadedCertificate.findFirst({ where });
  if (before === null) throw new AppError('certificate.missing', { certificateId });
  await tx.uploadedCertificate.delete({ where });
  await deleteKey(ctx, before.keyId);
  await bumpServersOfNames(ctx, before.names);
  await recordAudit(ctx, {
    action: 'certificate.delete',
    target: { kind: 'certificate', id: certificateId, label: before.names[0] ?? '' },
    before: { names: before.names, issuer: before.issuer, notAfter: before.notAfter.toISOString() },
  });
  await notifyChange(ctx, { kind: 'certificate', id: certificateId });
  return { certificateId };
}
