// Lists the deleted apps that can still be restored.
import { parseId } from '@fairlead/contract/ids';
import { type Ctx, withDeletedApps } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import type { DeletedAppList } from './schema.ts';

/** Lists the deleted apps of the projects that `reach` covers, the last one first. */
export async function listDeletedApps(ctx: Ctx, reach: Reach = wholeReach): Promise<DeletedAppList> {
  const { tx, organizationId } = ctx;
  const rows = await withDeletedApps(ctx, () =>
    tx.app.findMany({
      where: {
        organizationId,
        deletion: { isNot: null },
        ...(reach.everywhere ? {} : { projectId: { in: [...reach.projectIds] } }),
      },
      select: { id: true, name: true, slug: true, project: { select: { id: true, name: true } }, deletion: true },
      orderBy: [{ deletion: { deletedAt: 'desc' } }, { id: 'asc' }],
    }),
  );
  const userIds = rows.flatMap(({ deletion }) => deletion?.deletedByUserId ?? []);
  const users = await tx.user.findMany({ where: { id: { in: userIds } }, select: { id: true, name: true } });
  const nameOf = new Map(users.map(({ id, name }) => [id, name]));
  return {
    items: rows.flatMap(({ id, name, slug, project, deletion }) =>
      deletion === null
        ? []
        : [
            {
              id: parseId('app', id),
              name,
              slug,
              projectId: parseId('prj', project.id),
              projectName: project.name,
              deletedAt: deletion.deletedAt,
              purgeAt: deletion.purgeAt,
              deletedBy: nameOf.get(deletion.deletedByUserId ?? '') ?? null,
            },
          ],
    ),
  };
}
