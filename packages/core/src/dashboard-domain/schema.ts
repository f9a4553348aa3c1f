// Schemas of the dashboard's domains.
import { dashboardDomainIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { domainCertificateSchema } from '../certificate/schema.ts';
import { exactHostSchema } from '../domain/schema.ts';
import { hostViewSchema } from '../host/schema.ts';

/**
 * `served`: the local agent's proxy serves the dashboard to other machines. `reverse_proxy`: one of the operator does.
 * `local`: only this machine reaches it.
 */
export const dashboardReachSchema = z.enum(['served', 'reverse_proxy', 'local']);
export type DashboardReach = z.infer<typeof dashboardReachSchema>;

export const dashboardDomainSchema = z.object({
  id: dashboardDomainIdSchema,
  host: z.string(),
  url: z.string(),
  /** Links lead there. */
  isCurrent: z.boolean(),
  /** First answer with a certificate; null: there was none. */
  answeredAt: z.date().nullable(),
  dns: hostViewSchema,
  certificate: domainCertificateSchema,
});
export type DashboardDomainView = z.infer<typeof dashboardDomainSchema>;

export const dashboardDomainsSchema = z.object({
  reach: dashboardReachSchema,
  /** Public URL of the settings, which always stays an address of the dashboard. */
  settingsUrl: z.string(),
  /** Address that links and new servers get. */
  publicUrl: z.string(),
  /** Domain of the settings' public URL; null for an IP address. */
  suggestedHost: z.string().nullable(),
  /** Newest first. */
  items: z.array(dashboardDomainSchema),
});
export type DashboardDomains = z.infer<typeof dashboardDomainsSchema>;

export const addDashboardDomainInputSchema = z.object({ host: exactHostSchema });
export type AddDashboardDomainInput = z.infer<typeof addDashboardDomainInputSchema>;

export const dashboardDomainRefSchema = z.object({ dashboardDomainId: dashboardDomainIdSchema });
export type DashboardDomainRef = z.infer<typeof dashboardDomainRefSchema>;
