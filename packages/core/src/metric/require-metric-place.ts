// Finds an app's samples: the servers on which it runs in one environment.
import { AppError, type Ctx } from '../kernel/index.ts';

export interface MetricPlace {
  readonly environmentId: string;
  readonly serverIds: readonly string[];
}

/** Without an environment: that where the app was made. Throws app.not_found. */
export async function requireMetricPlace(
  ctx: Ctx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId?: string | undefined },
): Promise<MetricPlace> {
  const rows = await ctx.tx.placement.findMany({
    where: { appId, organizationId: ctx.organizationId, ...(environmentId === undefined ? {} : { environmentId }) },
    select: { environmentId: true, serverId: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const [first] = rows;
  if (first === undefined) throw new AppError('app.not_found', { appId });
  const there = rows.filter((row) => row.environmentId === first.environmentId);
  return { environmentId: first.environmentId, serverIds: there.map(({ serverId }) => serverId) };
}
