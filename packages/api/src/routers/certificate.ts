// Procedures of certificates.
import {
  addCertificate,
  addCertificateInputSchema,
  certificateDetailRefSchema,
  certificateDetailSchema,
  certificatePageSchema,
  certificateRefSchema,
  certificateSchema,
  deleteCertificate,
  domainCertificateSchema,
  getCertificate,
  getCertificateDetail,
  listCertificates,
  listCertificatesInputSchema,
  retryCertificate,
  updateCertificate,
  updateCertificateInputSchema,
  uploadedCertificateRefSchema,
  uploadResultSchema,
} from '@fairlead/core/certificate';
import { findAttention } from '../attention.ts';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfDomains, open } from '../protection.ts';
import { byCertificate, byDomain } from '../scopes.ts';

export const certificateRouter = router({
  list: memberProcedure('domain.read', { input: listCertificatesInputSchema, lists: 'environment' })
    .output(certificatePageSchema)
    .query(async ({ ctx, input }) =>
      listCertificates(ctx.core, input, ctx.access.reach('domain.read'), await findAttention(ctx, input.attention)),
    ),

  get: memberProcedure('domain.read', { input: certificateRefSchema, scope: byDomain })
    .output(domainCertificateSchema)
    .query(({ ctx, input }) => getCertificate(ctx.core, input, ctx.config)),

  getDetail: memberProcedure('domain.read', { input: certificateDetailRefSchema, scope: byCertificate })
    .output(certificateDetailSchema)
    .query(({ ctx, input }) => getCertificateDetail(ctx.core, input)),

  add: memberProcedure('domain.write', { input: addCertificateInputSchema, fresh: true, protection: approverOfDomains })
    .output(uploadResultSchema)
    .mutation(({ ctx, input }) => addCertificate(ctx.core, input, ctx.secretKeys)),

  update: memberProcedure('domain.write', {
    input: updateCertificateInputSchema,
    fresh: true,
    protection: approverOfDomains,
  })
    .output(uploadResultSchema)
    .mutation(({ ctx, input }) => updateCertificate(ctx.core, input, ctx.secretKeys)),

  delete: memberProcedure('domain.write', {
    input: uploadedCertificateRefSchema,
    fresh: true,
    protection: approverOfDomains,
  })
    .output(uploadedCertificateRefSchema)
    .mutation(({ ctx, input }) => deleteCertificate(ctx.core, input)),

  retry: memberProcedure('domain.write', {
    input: certificateRefSchema,
    scope: byDomain,
    protection: open('the site stays what it is'),
  })
    .output(certificateSchema)
    .mutation(({ ctx, input }) => retryCertificate(ctx.core, input)),
});
