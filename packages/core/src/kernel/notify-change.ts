// Notifies browsers of changes. It sends ids only: each reader loads the rows again, with their own rights.
import { type ChangeNotice, changeChannel } from '@fairlead/contract/notify';
import type { OrganizationCtx } from './context.ts';

/** Fires when the transaction commits. */
export async function notifyChange(ctx: OrganizationCtx, change: Omit<ChangeNotice, 'organizationId'>): Promise<void> {
  const notice: ChangeNotice = { organizationId: ctx.organizationId, ...change };
  await ctx.tx.$executeRaw`SELECT pg_notify(${changeChannel}, ${JSON.stringify(notice)})`;
}
