// Deletes a project that holds no app and no secret group, with its environments.
// Invariant: releases of apps that moved away keep the secrets that they run with.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { revokeStaleInvitations } from '../role/index.ts';
import { getProject } from './get-project.ts';
import type { DeleteProjectInput, ProjectRef } from './schema.ts';
import { lockProjects, requireProject } from './store.ts';

/**
 * Deletes grants and tokens that apply only to the project or its environments. Throws project.only,
 * project.not_empty and project.confirm_mismatch.
 */
export async function deleteProject(ctx: Ctx, input: DeleteProjectInput): Promise<ProjectRef> {
  const { tx, organizationId } = ctx;
  const { projectId } = input;
  const rows = await lockProjects(ctx);
  const { name } = requireProject(rows, projectId);
  const [heir] = rows.filter(({ id }) => id !== projectId);
  if (heir === undefined) throw new AppError('project.only', { projectId });
  const { apps, deletedApps, secretGroups, environments, grantCount, tokenCount } = await getProject(ctx, {
    projectId,
  });
  if (apps.length > 0 || deletedApps.length > 0 || secretGroups.length > 0) {
    throw new AppError('project.not_empty', { projectId, apps, deletedApps, secretGroups });
  }
  if (name !== input.confirmName.trim()) throw new AppError('project.confirm_mismatch', { projectId });
  // Only deleted groups are left. Releases of apps that moved away may run with their secrets.
  await tx.secretGroup.updateMany({ where: { projectId, organizationId }, data: { projectId: heir.id } });
  await tx.project.delete({ where: { id: projectId } });
  await revokeStaleInvitations(ctx);
  await recordAudit(ctx, {
    action: 'project.delete',
    target: { kind: 'project', id: projectId, label: name },
    before: { name, environments, grants: grantCount, tokens: tokenCount },
  });
  return { projectId };
}
