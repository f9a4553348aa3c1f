// Procedures of DNS providers.
import {
  createDnsProvider,
  createDnsProviderInputSchema,
  deleteDnsProvider,
  dnsProviderCheckSchema,
  dnsProviderListSchema,
  dnsProviderRefSchema,
  dnsProviderSchema,
  listDnsProviders,
  prepareDnsProviderTest,
  updateDnsProvider,
  updateDnsProviderInputSchema,
  verifyDnsProvider,
} from '@fairlead/core/dns-provider';
import { memberProcedure, memberRequest, router } from '../procedures.ts';
import { open } from '../protection.ts';

const isProof = open('it changes how hosts are verified, not what visitors get');

export const dnsProviderRouter = router({
  list: memberProcedure('domain.read')
    .output(dnsProviderListSchema)
    .query(({ ctx }) => listDnsProviders(ctx.core)),

  create: memberProcedure('organization.write', {
    input: createDnsProviderInputSchema,
    fresh: true,
    protection: isProof,
  })
    .output(dnsProviderSchema)
    .mutation(({ ctx, input }) => createDnsProvider(ctx.core, input, ctx.secretKeys)),

  update: memberProcedure('organization.write', {
    input: updateDnsProviderInputSchema,
    fresh: true,
    protection: isProof,
  })
    .output(dnsProviderSchema)
    .mutation(({ ctx, input }) => updateDnsProvider(ctx.core, input, ctx.secretKeys)),

  verify: memberRequest('organization.write', {
    input: dnsProviderRefSchema,
    protection: isProof,
    prepare: (core, input, ctx) => prepareDnsProviderTest(core, input, ctx.secretKeys),
  })
    .output(dnsProviderCheckSchema)
    .mutation(({ ctx }) => verifyDnsProvider(ctx.prepared, ctx.dns)),

  delete: memberProcedure('organization.write', { input: dnsProviderRefSchema, protection: isProof })
    .output(dnsProviderRefSchema)
    .mutation(({ ctx, input }) => deleteDnsProvider(ctx.core, input)),
});
