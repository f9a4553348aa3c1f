// Channels of PostgreSQL's NOTIFY and their payloads. Ids and numbers only: any client that can connect may listen.
import { z } from 'zod';
import { organizationIdSchema, serverIdSchema } from './ids.ts';
import { changeKinds } from './live.ts';

/** A server's desired state has a new version. Sent in the transaction that made it, so it fires on commit. */
export const desiredChannel = 'fairlead_desired';
export const desiredNotice = z.object({
  serverId: serverIdSchema,
  epoch: z.number().int().nonnegative(),
  number: z.number().int().nonnegative(),
});
export type DesiredNotice = z.infer<typeof desiredNotice>;

/** The addresses of the dashboard have changed. Without a payload: processes read the rows again. */
export const dashboardChannel = 'fairlead_dashboard';

/** Something that browsers may be showing has changed. */
export const changeChannel = 'fairlead_change';
export const changeNotice = z.object({
  organizationId: organizationIdSchema,
  kind: z.enum(changeKinds),
  id: z.string(),
  /** App that it belongs to, so that an app's page gets the changes of its deployments and benchmarks. */
  appId: z.string().optional(),
});
export type ChangeNotice = z.infer<typeof changeNotice>;
