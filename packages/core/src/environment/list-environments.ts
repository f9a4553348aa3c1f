// Lists environments with their projects.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { type Reach, whereReached, wholeReach } from '../role/index.ts';
import type { EnvironmentList } from './schema.ts';

/** Lists environments by project, the oldest first. */
export async function listEnvironments(ctx: Ctx, reach: Reach = wholeReach): Promise<EnvironmentList> {
  const rows = await ctx.tx.environment.findMany({
    where: { organizationId: ctx.organizationId, ...whereReached(reach) },
    select: { id: true, name: true, slug: true, protected: true, project: { select: { id: true, name: true } } },
    orderBy: [{ project: { createdAt: 'asc' } }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  // An app on several servers has a placement on each.
  const placed = await ctx.tx.placement.groupBy({
    by: ['environmentId', 'appId'],
    where: { organizationId: ctx.organizationId, environmentId: { in: rows.map(({ id }) => id) } },
  });
  const firsts = await ctx.tx.environment.findMany({
    where: { organizationId: ctx.organizationId },
    select: { id: true },
    distinct: ['projectId'],
    orderBy: [{ projectId: 'asc' }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  return {
    items: rows.map(({ id, project, ...row }) => ({
      ...row,
      isFirst: firsts.some((first) => first.id === id),
      appCount: placed.filter(({ environmentId }) => environmentId === id).length,
      id: parseId('env', id),
      projectId: parseId('prj', project.id),
      projectName: project.name,
    })),
  };
}
