// Procedures of certificates.
import {
  certificatePageSchema,
  certificateRefSchema,
  certificateSchema,
  domainCertificateSchema,
  getCertificate,
  listCertificates,
  listCertificatesInputSchema,
  retryCertificate,
} from '@fairlead/core/certificate';
import { memberProcedure, router } from '../procedures.ts';
import { open } from '../protection.ts';
import { byDomain } from '../scopes.ts';

export const certificateRouter = router({
  list: memberProcedure('domain.read', { input: listCertificatesInputSchema, lists: 'environment' })
    .output(certificatePageSchema)
    .query(({ ctx, input }) => listCertificates(ctx.core, input, ctx.access.reach('domain.read'))),

  get: memberProcedure('domain.read', { input: certificateRefSchema, scope: byDomain })
    .output(domainCertificateSchema)
    .query(({ ctx, input }) => getCertificate(ctx.core, input, ctx.config)),

  retry: memberProcedure('domain.write', {
    input: certificateRefSchema,
    scope: byDomain,
    protection: open('the site stays what it is'),
  })
    .output(certificateSchema)
    .mutation(({ ctx, input }) => retryCertificate(ctx.core, input)),
});
