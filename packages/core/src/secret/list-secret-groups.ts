// Lists secret groups with their names and apps, without values.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import type { SecretGroupView } from './schema.ts';
import { loadCurrent, viewOf } from './store.ts';

/** Lists groups by project, then by name. A group belongs to its project: a grant for an environment alone shows none. */
export async function listSecretGroups(ctx: Ctx, reach: Reach = wholeReach): Promise<SecretGroupView[]> {
  const groups = await ctx.tx.secretGroup.findMany({
    where: {
      organizationId: ctx.organizationId,
      deletedAt: null,
      ...(reach.everywhere ? {} : { projectId: { in: [...reach.projectIds] } }),
    },
    select: {
      id: true,
      name: true,
      project: { select: { id: true, name: true } },
      apps: { select: { app: { select: { id: true, name: true, slug: true } } }, orderBy: { app: { name: 'asc' } } },
    },
    orderBy: [{ project: { name: 'asc' } }, { name: 'asc' }],
  });
  const rows = groups.length === 0 ? [] : await loadCurrent(ctx, { groupIds: groups.map(({ id }) => id) });
  const secrets = Map.groupBy(rows, ({ groupId }) => groupId);
  return groups.map((group) => ({
    id: parseId('scg', group.id),
    name: group.name,
    projectId: parseId('prj', group.project.id),
    projectName: group.project.name,
    secrets: (secrets.get(group.id) ?? []).map(viewOf),
    apps: group.apps.map(({ app }) => ({ ...app, id: parseId('app', app.id) })),
  }));
}
