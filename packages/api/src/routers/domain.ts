// Procedures of domains.
import {
  attachDomain,
  attachDomainInputSchema,
  baseDomainRefSchema,
  baseDomainSchema,
  detachDomain,
  domainPageSchema,
  domainPolicySchema,
  domainRefSchema,
  domainSchema,
  domainTlsSchema,
  getBaseDomain,
  getDomain,
  getDomainTls,
  listDomains,
  listDomainsInputSchema,
  updateBaseDomain,
  updateBaseDomainInputSchema,
  updateDomainPolicy,
  updateDomainPolicyInputSchema,
  updateDomainTls,
  updateDomainTlsInputSchema,
} from '@fairlead/core/domain';
import { policySchema } from '@fairlead/core/traffic';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfHost, approverOfNewRoute, approverOfServer } from '../protection.ts';
import { byDomain, byHost, byPlacement } from '../scopes.ts';

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

  tls: memberProcedure('domain.read', { input: domainRefSchema, scope: byDomain })
    .output(domainTlsSchema)
    .query(({ ctx, input }) => getDomainTls(ctx.core, input)),

  updateTls: memberProcedure('domain.write', {
    input: updateDomainTlsInputSchema,
    scope: byHost,
    protection: approverOfHost,
  })
    .output(domainTlsSchema)
    .mutation(({ ctx, input }) => updateDomainTls(ctx.core, input)),

  getBase: memberProcedure('server.read', { input: baseDomainRefSchema })
    .output(baseDomainSchema)
    .query(({ ctx, input }) => getBaseDomain(ctx.core, input)),

  updateBase: memberProcedure('server.write', { input: updateBaseDomainInputSchema, protection: approverOfServer })
    .output(baseDomainSchema)
    .mutation(({ ctx, input }) => updateBaseDomain(ctx.core, input, ctx.config)),

  detach: memberProcedure('domain.write', { input: domainRefSchema, scope: byDomain, protection: approverOfHost })
    .output(domainRefSchema)
    .mutation(({ ctx, input }) => detachDomain(ctx.core, input)),
});
