// Creates an environment, with its own secrets, settings and domains.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation, toSlug } from '../kernel/index.ts';
import type { CreateEnvironmentInput, EnvironmentRef } from './schema.ts';

export async function createEnvironment(ctx: Ctx, input: CreateEnvironmentInput): Promise<EnvironmentRef> {
  const { tx, organizationId } = ctx;
  const { name } = input;
  const project = await tx.project.findFirst({
    where: { organizationId, ...(input.projectId === undefined ? {} : { id: input.projectId }) },
    select: { id: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (project === null) throw new AppError('environment.not_found');
  const environmentId = newId('env');
  const row = {
    id: environmentId,
    organizationId,
    projectId: project.id,
    name,
    slug: toSlug(name) || 'environment',
    protected: input.protected,
    createdAt: ctx.clock.now(),
  };
  try {
    await tx.environment.create({ data: row });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('environment.name_taken', { name }, { cause: error });
    throw error;
  }
  await recordAudit(ctx, {
    action: 'environment.create',
    target: { kind: 'environment', id: environmentId, label: name },
    after: { name, projectId: project.id, protected: input.protected },
  });
  return { environmentId };
}
