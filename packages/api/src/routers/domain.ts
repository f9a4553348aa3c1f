// Procedures of domains.
import {
  attachDomain,
  attachDomainInputSchema,
  detachDomain,
  domainPageSchema,
  domainPolicySchema,
  domainRefSchema,
  domainSchema,
  getDomain,
  listDomains,
  listDomainsInputSchema,
  updateDomainPolicy,
  updateDomainPolicyInputSchema,
} from '@fairlead/core/domain';
import { policySchema } from '@fairlead/core/traffic';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfHost, approverOfNewRoute } from '../protection.ts';
import { byDomain, byPlacement } from '../scopes.ts';

export const domainRouter = router({
  list: memberProcedure('domain.read', { input: listDomainsInputSchema, lists: 'environment' })
    .output(domainPageSchema)
    .query(({ ctx, input }) => listDomains(ctx.core, input, ctx.config, ctx.access.reach('domain.read'))),

  attach: memberProcedure('domain.write', {
    input: attachDomainInputSchema,
    scope: byPlacement,
    protection: approverOfNewRoute,
  })
    .output(domainSchema)
    .mutation(({ ctx, input }) => attachDomain(ctx.core, input, ctx.config, ctx.access.reach('domain.write'))),

  get: memberProcedure('domain.read', { input: domainRefSchema, scope: byDomain })
    .output(domainPolicySchema)
    .query(({ ctx, input }) => getDomain(ctx.core, input, ctx.config)),

  updatePolicy: memberProcedure('domain.write', {
    input: updateDomainPolicyInputSchema,
    scope: byDomain,
    protection: approverOfHost,
  })
    .output(policySchema)
    .mutation(({ ctx, input }) => updateDomainPolicy(ctx.core, input)),

  detach: memberProcedure('domain.write', { input: domainRefSchema, scope: byDomain, protection: approverOfHost })
    .output(domainRefSchema)
    .mutation(({ ctx, input }) => detachDomain(ctx.core, input)),
});
