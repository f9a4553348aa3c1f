// Schemas of certificates.
import { certificateIdSchema, domainIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { pageInputSchema, pageSchema, searchSchema } from '../kernel/page.ts';

/** `waiting`: no order yet. `ordering`: one runs. `failed`: none was issued, and the last order failed. */
export const certificateStateSchema = z.enum(['waiting', 'ordering', 'issued', 'failed', 'expired']);
export type CertificateState = z.infer<typeof certificateStateSchema>;

export const certificateSchema = z.object({
  id: certificateIdSchema,
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
 * `local`: the authority of the app's server issues it. `off`: the operator turned orders off. `public` without a
 * certificate: its first order is not planned yet.
 */
export const domainCertificateSchema = z.object({
  kind: z.enum(['local', 'public', 'off']),
  certificate: certificateSchema.nullable(),
});
export type DomainCertificate = z.infer<typeof domainCertificateSchema>;

export const certificatePageSchema = pageSchema(certificateSchema);
export const listCertificatesInputSchema = pageInputSchema.extend({ search: searchSchema.optional() });
export type ListCertificatesInput = z.infer<typeof listCertificatesInputSchema>;

/** The certificate of a domain's host. */
export const certificateRefSchema = z.object({ domainId: domainIdSchema });
export type CertificateRef = z.infer<typeof certificateRefSchema>;
