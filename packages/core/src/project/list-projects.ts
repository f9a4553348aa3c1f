// Lists projects with their environments and number of apps.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { type Reach, whereReached, wholeReach } from '../role/index.ts';
import type { ProjectList } from './schema.ts';

/** Lists the projects that the reader may see something of, the oldest first. */
export async function listProjects(ctx: Ctx, reach: Reach = wholeReach): Promise<ProjectList> {
  const { tx, organizationId } = ctx;
  const oldestFirst = [{ createdAt: 'asc' as const }, { id: 'asc' as const }];
  const { everywhere } = reach;
  const [projectIds, environmentIds] = [[...reach.projectIds], [...reach.environmentIds]];
  const rows = await tx.project.findMany({
    where: {
      organizationId,
      ...(everywhere
        ? {}
        : { OR: [{ id: { in: projectIds } }, { environments: { some: { id: { in: environmentIds } } } }] }),
    },
    select: {
      id: true,
      name: true,
      createdAt: true,
      environments: {
        where: { kind: 'standard', ...whereReached(reach) },
        select: { id: true, name: true, protected: true },
        orderBy: oldestFirst,
      },
    },
    orderBy: oldestFirst,
  });
  const counts = await tx.app.groupBy({
    by: ['projectId'],
    where: {
      organizationId,
      ...(everywhere
        ? {}
        : {
            OR: [
              { projectId: { in: projectIds } },
              { placements: { some: { environmentId: { in: environmentIds }, servers: { some: {} } } } },
            ],
          }),
    },
    _count: true,
  });
  return {
    items: rows.map(({ id, environments, ...row }) => ({
      ...row,
      id: parseId('prj', id),
      appCount: counts.find(({ projectId }) => projectId === id)?._count ?? 0,
      environments: environments.map((each) => ({ ...each, id: parseId('env', each.id) })),
    })),
  };
}
