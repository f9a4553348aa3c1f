// Lists environments with their projects.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { type Reach, whereReached, wholeReach } from '../role/index.ts';
import type { EnvironmentList } from './schema.ts';

/** Lists environments by project, the oldest first. Previews are listed with their app. */
export async function listEnvironments(ctx: Ctx, reach: Reach = wholeReach): Promise<EnvironmentList> {
  const rows = await ctx.tx.environment.findMany({
    where: { organizationId: ctx.organizationId, kind: 'standard', ...whereReached(reach) },
    select: {
      id: true,
      name: true,
      slug: true,
      protected: true,
      project: { select: { id: true, name: true } },
      _count: { select: { placements: { where: { servers: { some: {} } } } } },
    },
    orderBy: [{ project: { createdAt: 'asc' } }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  const firsts = await ctx.tx.environment.findMany({
    where: { organizationId: ctx.organizationId },
    select: { id: true },
    distinct: ['projectId'],
    orderBy: [{ projectId: 'asc' }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  return {
    items: rows.map(({ id, project, _count, ...row }) => ({
      ...row,
      isFirst: firsts.some((first) => first.id === id),
      appCount: _count.placements,
      id: parseId('env', id),
      projectId: parseId('prj', project.id),
      projectName: project.name,
    })),
  };
}
