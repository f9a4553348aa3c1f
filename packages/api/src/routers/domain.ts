// Owns the procedures of domains.
import {
  attachDomain,
  attachDomainInputSchema,
  detachDomain,
  detachDomainInputSchema,
  domainPageSchema,
  domainSchema,
  listDomains,
  listDomainsInputSchema,
} from '@fairlead/core/domain';
import { memberProcedure, router } from '../ladder.ts';

export const domainRouter = router({
  list: memberProcedure('domain.read')
    .input(listDomainsInputSchema)
    .output(domainPageSchema)
    .query(({ ctx, input }) => listDomains(ctx.core, input, ctx.config)),

  attach: memberProcedure('domain.write')
    .input(attachDomainInputSchema)
    .output(domainSchema)
    .mutation(({ ctx, input }) => attachDomain(ctx.core, input, ctx.config)),

  detach: memberProcedure('domain.write')
    .input(detachDomainInputSchema)
    .output(detachDomainInputSchema)
    .mutation(({ ctx, input }) => detachDomain(ctx.core, input)),
});
