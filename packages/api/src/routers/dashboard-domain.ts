// Procedures of the dashboard's domains, for the people who operate this control plane.
import {
  addDashboardDomain,
  addDashboardDomainInputSchema,
  dashboardDomainRefSchema,
  dashboardDomainsSchema,
  deleteDashboardDomain,
  listDashboardDomains,
  retryDashboardCertificate,
  verifyDashboardDomain,
} from '@fairlead/core/dashboard-domain';
import { asOperator } from '../access.ts';
import { freshOperatorProcedure, operatorProcedure, router } from '../procedures.ts';

export const dashboardDomainRouter = router({
  list: operatorProcedure
    .output(dashboardDomainsSchema)
    .query(({ ctx }) =>
      asOperator(ctx, "list the dashboard's domains", (core) =>
        listDashboardDomains(core, ctx.config.dashboard, ctx.config.acmeDirectoryUrl),
      ),
    ),

  /** Addresses before it keep working. */
  add: freshOperatorProcedure
    .input(addDashboardDomainInputSchema)
    .output(dashboardDomainRefSchema)
    .mutation(({ ctx, input }) => {
      const { dashboard, controlHost } = ctx.config;
      return asOperator(ctx, 'add a domain of the dashboard', (core) =>
        addDashboardDomain(core, input, { ...dashboard, controlHost }),
      );
    }),

  delete: freshOperatorProcedure
    .input(dashboardDomainRefSchema)
    .output(dashboardDomainRefSchema)
    .mutation(({ ctx, input }) =>
      asOperator(ctx, 'remove a domain of the dashboard', (core) => deleteDashboardDomain(core, input)),
    ),

  /** Checks the DNS records at once. */
  verify: operatorProcedure
    .input(dashboardDomainRefSchema)
    .output(dashboardDomainRefSchema)
    .mutation(({ ctx, input }) =>
      asOperator(ctx, "check a dashboard's domain", (core) => verifyDashboardDomain(core, input)),
    ),

  /** Orders the certificate again, at once. */
  retry: operatorProcedure
    .input(dashboardDomainRefSchema)
    .output(dashboardDomainRefSchema)
    .mutation(({ ctx, input }) =>
      asOperator(ctx, "order the certificate of a dashboard's domain", (core) =>
        retryDashboardCertificate(core, input),
      ),
    ),
});
