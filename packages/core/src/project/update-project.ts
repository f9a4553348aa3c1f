// Renames a project.
import { recordAudit } from '../audit/index.ts';
import type { Ctx } from '../kernel/index.ts';
import type { ProjectRef, UpdateProjectInput } from './schema.ts';
import { lockProjects, requireFreeName, requireProject } from './store.ts';

/** Throws project.name_taken. */
export async function updateProject(ctx: Ctx, { projectId, name }: UpdateProjectInput): Promise<ProjectRef> {
  const rows = await lockProjects(ctx);
  const project = requireProject(rows, projectId);
  if (project.name === name) return { projectId };
  requireFreeName(
    rows.filter(({ id }) => id !== projectId),
    name,
  );
  await ctx.tx.project.updateMany({ where: { id: projectId, organizationId: ctx.organizationId }, data: { name } });
  await recordAudit(ctx, {
    action: 'project.update',
    target: { kind: 'project', id: projectId, label: name },
    before: { name: project.name },
    after: { name },
  });
  return { projectId };
}
