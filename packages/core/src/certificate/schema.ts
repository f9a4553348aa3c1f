// Schemas of certificates.
import {
  certificateIdSchema,
  domainIdSchema,
  serverIdSchema,
  uploadedCertificateIdSchema,
} from '@fairlead/contract/ids';
import { z } from 'zod';
import { attentionFilterSchema } from '../attention/schema.ts';
import { countedPageSchema, pageInputSchema, searchSchema } from '../kernel/page.ts';
import { certificateFilters, certificateStates } from './rules.ts';

export const certificateStateSchema = z.enum(certificateStates);
export type CertificateState = z.infer<typeof certificateStateSchema>;

export const certificateSchema = z.object({
  id: z.union([certificateIdSchema, uploadedCertificateIdSchema]),
  host: z.string(),
  state: certificateStateSchema,
  /** Name of the authority that issued it; null without a certificate. */
  issuer: z.string().nullable(),
  notAfter: z.date().nullable(),
  renewAt: z.date().nullable(),
  /** Step of the running order. */
  step: z.enum(['account', 'order', 'validate', 'issue']).nullable(),
  /** Failure of the last order, also beside a certificate that is still valid. */
  failure: z.object({ code: z.string(), message: z.string(), failedAt: z.date() }).nullable(),
  /** Time of the next order; null while one runs or none is due. */
  nextAttemptAt: z.date().nullable(),
});
export type CertificateView = z.infer<typeof certificateSchema>;

/**
 * `local`: the authority of the app's server issues it. `upload`: a member uploaded it. `off`: the operator turned
 * orders off. `public` without a certificate: its first order is not planned yet.
 */
export const domainCertificateSchema = z.object({
  kind: z.enum(['local', 'upload', 'public', 'off']),
  certificate: certificateSchema.nullable(),
});
export type DomainCertificate = z.infer<typeof domainCertificateSchema>;

/** `acme`: ordered from a certificate authority. `upload`: a member's own. `local`: issued by the server's local CA. */
export const certificateSourceSchema = z.enum(['acme', 'upload', 'local']);
export type CertificateSource = z.infer<typeof certificateSourceSchema>;

/** Certificate in the list of an organization. `host` is its first name. */
export const certificateEntrySchema = certificateSchema.extend({
  /** A local certificate has the id of its domain. */
  id: z.union([certificateIdSchema, uploadedCertificateIdSchema, domainIdSchema]),
  source: certificateSourceSchema,
  names: z.array(z.string()),
  notBefore: z.date().nullable(),
  /** Servers that serve it. */
  servers: z.array(z.object({ id: serverIdSchema, name: z.string() })),
  /** Domains that it covers. */
  domains: z.array(z.object({ id: domainIdSchema, host: z.string() })),
});
export type CertificateEntry = z.infer<typeof certificateEntrySchema>;

export const certificatePageSchema = countedPageSchema(certificateEntrySchema);
export const listCertificatesInputSchema = pageInputSchema.extend({
  search: searchSchema.optional(),
  state: z.enum(certificateFilters).optional(),
  /** Only those that need attention and were not acknowledged. */
  attention: attentionFilterSchema.optional(),
});
export type ListCertificatesInput = z.infer<typeof listCertificatesInputSchema>;

export const certificateEventKindSchema = z.enum(['ordered', 'issued', 'renewed', 'failed', 'uploaded', 'replaced']);
export type CertificateEventKind = z.infer<typeof certificateEventKindSchema>;

export const certificateDetailSchema = certificateEntrySchema.extend({
  /** Newest first, at most 50. */
  events: z.array(
    z.object({
      id: z.string(),
      kind: certificateEventKindSchema,
      /** Cause of a failure. */
      detail: z.string().nullable(),
      createdAt: z.date(),
    }),
  ),
  /** Leaf and key; null without a certificate. */
  leaf: z
    .object({
      /** SHA-256 in hexadecimal pairs. */
      fingerprint: z.string(),
      serialNumber: z.string(),
      /** Type of the public key, such as "RSA 2048". */
      key: z.string(),
    })
    .nullable(),
});
export type CertificateDetail = z.infer<typeof certificateDetailSchema>;

export const certificateDetailRefSchema = z.object({
  certificateId: z.union([certificateIdSchema, uploadedCertificateIdSchema]),
});
export type CertificateDetailRef = z.infer<typeof certificateDetailRefSchema>;

/** The certificate of a domain's host. */
export const certificateRefSchema = z.object({ domainId: domainIdSchema });
export type CertificateRef = z.infer<typeof certificateRefSchema>;

const chainPemMax = 64 * 1024;
const keyPemMax = 16 * 1024;

/** Chain and key as PEM. The key is stored encrypted and never returned. */
export const addCertificateInputSchema = z.object({
  chainPem: z
    .string()
    .trim()
    .min(1, 'Paste the certificate and its chain.')
    .max(chainPemMax, 'A chain has at most 64 KiB.'),
  keyPem: z.string().trim().min(1, 'Paste the private key.').max(keyPemMax, 'A private key has at most 16 KiB.'),
});
export type AddCertificateInput = z.infer<typeof addCertificateInputSchema>;

export const uploadedCertificateRefSchema = z.object({ certificateId: uploadedCertificateIdSchema });
export type UploadedCertificateRef = z.infer<typeof uploadedCertificateRefSchema>;

export const updateCertificateInputSchema = uploadedCertificateRefSchema.extend(addCertificateInputSchema.shape);
export type UpdateCertificateInput = z.infer<typeof updateCertificateInputSchema>;

export const uploadResultSchema = z.object({
  certificateId: uploadedCertificateIdSchema,
  names: z.array(z.string()),
  /** Changes to the pasted chain, in sentences. */
  notes: z.array(z.string()),
});
export type UploadResult = z.infer<typeof uploadResultSchema>;
