// Finds the servers that hold the requested log lines.

import type { AppLogQuery } from '@fairlead/contract/app-log';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import type { TailLogInput } from './schema.ts';

/** Throws app.not_found and placement.missing. */
export async function toLogQuery(ctx: OrganizationCtx, input: TailLogInput, follow: boolean): Promise<AppLogQuery> {
  const { serverId, environmentId: _, appId, ...filter } = input;
  const placement = await requirePlacement(ctx, input);
  const serverIds = placement.servers
    .map((each) => each.serverId)
    .filter((id) => serverId === undefined || id === serverId);
  if (serverIds.length === 0) throw new AppError('placement.missing', { appId, serverId });
  const { organizationId } = ctx;
  return { ...filter, organizationId, appId, environmentId: placement.environmentId, serverIds, follow };
}
