// Uploads a certificate of the organization's own, and replaces one. The key is stored encrypted and never returned.
import type { X509Certificate } from 'node:crypto';
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { recordEvent } from './history.ts';
import { storeKey } from './keys.ts';
import { readUpload } from './read-upload.ts';
import { issuerOf } from './record-orders.ts';
import type { AddCertificateInput, UpdateCertificateInput, UploadResult } from './schema.ts';
import { deleteKey } from './store.ts';
import { bumpServersOfNames, listCoveredDomains } from './uploads.ts';

/** Maximum number of uploads of an organization. */
const uploadsMax = 200;

/** Throws the errors of `readUpload`, certificate.names_not_covered and certificate.too_many. */
export async function addCertificate(ctx: Ctx, input: AddCertificateInput, keys: SecretKeys): Promise<UploadResult> {
  const { tx, organizationId } = ctx;
  const count = await tx.uploadedCertificate.count({ where: { organizationId } });
  if (count >= uploadsMax) throw new AppError('certificate.too_many');
  const { notes, ...read } = await readFor(ctx, input);
  const key = await storeKey(ctx, keys, read.privateKey);
  const certificateId = newId('ucr');
  const fields = fieldsOf(read);
  await tx.uploadedCertificate.create({
    data: { id: certificateId, organizationId, ...fields, keyId: key.id, createdAt: ctx.clock.now() },
  });
  await recordEvent(ctx, { uploadedCertificateId: certificateId }, { kind: 'uploaded' });
  await bumpServersOfNames(ctx, fields.names);
  await recordAudit(ctx, {
    action: 'certificate.add',
    target: { kind: 'certificate', id: certificateId, label: fields.names[0] ?? '' },
    after: { names: fields.names, issuer: fields.issuer, notAfter: fields.notAfter.toISOString() },
  });
  await notifyChange(ctx, { kind: 'certificate', id: certificateId });
  return { certificateId, names: fields.names, notes: [...notes] };
}

/** Replaces chain and key of an upload. Throws as `addCertificate` does, and certificate.missing. */
export async function updateCertificate(
  ctx: Ctx,
  { certificateId, ...input }: UpdateCertificateInput,
  keys: SecretKeys,
): Promise<UploadResult> {
  const { tx, organizationId } = ctx;
  const where = { id: certificateId, organizationId };
  const before = await tx.uploadedCertificate.findFirst({ where });
  if (before === null) throw new AppError('certificate.missing', { certificateId });
  const { notes, ...read } = await readFor(ctx, input);
  const key = await storeKey(ctx, keys, read.privateKey);
  const fields = fieldsOf(read);
  await tx.uploadedCertificate.update({
    where,
    data: { ...fields, keyId: key.id, remindedDays: null, endedAt: null },
  });
  await deleteKey(ctx, before.keyId);
  await recordEvent(ctx, { uploadedCertificateId: certificateId }, { kind: 'replaced' });
  await bumpServersOfNames(ctx, [...new Set([...before.names, ...fields.names])]);
  await recordAudit(ctx, {
    action: 'certificate.update',
    target: { kind: 'certificate', id: certificateId, label: fields.names[0] ?? '' },
    before: { names: before.names, issuer: before.issuer, notAfter: before.notAfter.toISOString() },
    after: { names: fields.names, issuer: fields.issuer, notAfter: fields.notAfter.toISOString() },
  });
  await notifyChange(ctx, { kind: 'certificate', id: certificateId });
  return { certificateId: parseId('ucr', certificateId), names: fields.names, notes: [...notes] };
}

async function readFor(ctx: Ctx, input: AddCertificateInput) {
  const read = readUpload(input, ctx.clock.now());
  if ((await listCoveredDomains(ctx, read.names)).length === 0) throw new AppError('certificate.names_not_covered');
  return read;
}

interface Read {
  readonly chain: readonly X509Certificate[];
  readonly leaf: X509Certificate;
  readonly names: readonly string[];
}

function fieldsOf({ chain, leaf, names }: Read) {
  return {
    names: [...names],
    chain: chain.map(({ raw }) => new Uint8Array(raw)),
    issuer: issuerOf(leaf),
    notBefore: leaf.validFromDate,
    notAfter: leaf.validToDate,
  };
}
