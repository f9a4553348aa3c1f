// Locks and finds projects.
import { AppError, type OrganizationCtx } from '../kernel/index.ts';

export interface ProjectRow {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
}

/**
 * Locks all projects of the organization until the transaction ends, so that names stay unique and one project remains.
 * Callers that add an app, an environment or a group to one of them wait. Returns the oldest first.
 */
export async function lockProjects({ tx, organizationId }: OrganizationCtx): Promise<ProjectRow[]> {
  // Locks in the order of the ids, so that two calls never deadlock.
  await tx.$queryRaw`SELECT id FROM project WHERE organization_id = ${organizationId} ORDER BY id FOR UPDATE`;
  return tx.project.findMany({
    where: { organizationId },
    select: { id: true, name: true, slug: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
}

/** Throws project.not_found. */
export function requireProject(rows: readonly ProjectRow[], projectId: string): ProjectRow {
  const found = rows.find(({ id }) => id === projectId);
  if (found === undefined) throw new AppError('project.not_found', { projectId });
  return found;
}

/** Throws project.name_taken. Names differ by more than their case, because people tell projects apart by them. */
export function requireFreeName(rows: readonly ProjectRow[], name: string): void {
  const isTaken = rows.some((row) => row.name.toLowerCase() === name.toLowerCase());
  if (isTaken) throw new AppError('project.name_taken', { name });
}
