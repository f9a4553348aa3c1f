// Inserts a project with its first environment. The caller has checked the name.
import { newId, type ProjectId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';

export async function insertProject(
  ctx: OrganizationCtx,
  { name, slug }: { readonly name: string; readonly slug: string },
): Promise<ProjectId> {
  const { organizationId } = ctx;
  const projectId = newId('prj');
  const createdAt = ctx.clock.now();
  await ctx.tx.project.create({ data: { id: projectId, organizationId, name, slug, createdAt } });
  await ctx.tx.environment.create({
    data: { id: newId('env'), organizationId, projectId, name: 'Production', slug: 'production', createdAt },
  });
  return projectId;
}
