// Creates a project with its first environment.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, firstFreeSlug, toSlug } from '../kernel/index.ts';
import { insertProject } from './insert-project.ts';
import type { CreateProjectInput, ProjectRef } from './schema.ts';
import { lockProjects, requireFreeName } from './store.ts';

/** Projects of one organization. Lists show all of them at once. */
const projectsMax = 100;

/** Throws project.name_taken and project.too_many. */
export async function createProject(ctx: Ctx, { name }: CreateProjectInput): Promise<ProjectRef> {
  const rows = await lockProjects(ctx);
  requireFreeName(rows, name);
  if (rows.length >= projectsMax) throw new AppError('project.too_many');
  const slug = firstFreeSlug(toSlug(name) || 'project', new Set(rows.map((row) => row.slug)));
  const projectId = await insertProject(ctx, { name, slug });
  await recordAudit(ctx, {
    action: 'project.create',
    target: { kind: 'project', id: projectId, label: name },
    after: { name },
  });
  return { projectId };
}
