// Returns the contents of a project that block its deletion, and those that are deleted with it.
import { parseId } from '@fairlead/contract/ids';
import { AppError, type OrganizationCtx, withDeletedApps } from '../kernel/index.ts';
import type { ProjectDetail, ProjectRef } from './schema.ts';

export async function getProject(ctx: OrganizationCtx, { projectId }: ProjectRef): Promise<ProjectDetail> {
  const { tx, organizationId } = ctx;
  const oldestFirst = [{ createdAt: 'asc' as const }, { id: 'asc' as const }];
  const project = await tx.project.findFirst({
    where: { id: projectId, organizationId },
    select: {
      name: true,
      secretGroups: { where: { deletedAt: null }, select: { name: true }, orderBy: { name: 'asc' } },
      environments: { where: { kind: 'standard' }, select: { name: true }, orderBy: oldestFirst },
    },
  });
  if (project === null) throw new AppError('project.not_found', { projectId });
  const apps = await withDeletedApps(ctx, () =>
    tx.app.findMany({
      where: { projectId, organizationId },
      select: { name: true, deletion: { select: { appId: true } } },
      orderBy: { name: 'asc' },
    }),
  );
  const within = { organizationId, OR: [{ projectId }, { environment: { projectId } }] };
  const namesOf = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name);
  return {
    id: parseId('prj', projectId),
    name: project.name,
    apps: namesOf(apps.filter(({ deletion }) => deletion === null)),
    deletedApps: namesOf(apps.filter(({ deletion }) => deletion !== null)),
    secretGroups: namesOf(project.secretGroups),
    environments: namesOf(project.environments),
    grantCount: await tx.roleGrant.count({ where: within }),
    tokenCount: await tx.apiToken.count({
      where: { ...within, revokedAt: null, expiresAt: { gt: ctx.clock.now() } },
    }),
    isOnly: (await tx.project.count({ where: { organizationId } })) === 1,
  };
}
