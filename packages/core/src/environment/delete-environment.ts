// Deletes an environment without apps, with everything in it except volumes, which need a deletion of their own. Logs
// are outside of the database; the log feature deletes them.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, withDeletedApps } from '../kernel/index.ts';
import type { DeleteEnvironmentInput, EnvironmentRef } from './schema.ts';

export function deleteEnvironment(ctx: Ctx, input: DeleteEnvironmentInput): Promise<EnvironmentRef> {
  // An app that is restored returns to its environments, and its history in left ones goes with them.
  return withDeletedApps(ctx, () => deleteWithRows(ctx, input));
}

/** Throws environment.in_use while an app is there, and environment.first for a project's first environment. */
async function deleteWithRows(ctx: Ctx, input: DeleteEnvironmentInput): Promise<EnvironmentRef> {
  const { tx, organizationId } = ctx;
  const { environmentId } = input;
  // A caller that adds an app to this environment waits for this lock, and then finds it deleted.
  const [row] = await tx.$queryRaw<{ name: string; projectId: string; protected: boolean }[]>`
    SELECT name, project_id AS "projectId", protected FROM environment
    WHERE id = ${environmentId} AND organization_id = ${organizationId} FOR UPDATE`;
  if (row === undefined) throw new AppError('environment.not_found', { environmentId });
  const { name, projectId } = row;
  const first = await tx.environment.findFirstOrThrow({
    where: { projectId, organizationId },
    select: { id: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (first.id === environmentId) throw new AppError('environment.first', { environmentId });
  const where = { environmentId, organizationId };
  if ((await tx.placement.count({ where: { ...where, servers: { some: {} } } })) > 0)
    throw new AppError('environment.in_use', { environmentId });
  if (name !== input.confirmName.trim()) throw new AppError('environment.confirm_mismatch', { environmentId });
  // Deployments point at releases without a cascade between them: from the outside in.
  await tx.deployment.deleteMany({ where });
  await tx.environment.delete({ where: { id: environmentId } });
  await recordAudit(ctx, {
    action: 'environment.delete',
    target: { kind: 'environment', id: environmentId, label: name },
    before: { name, projectId, protected: row.protected },
  });
  return { environmentId };
}
