// Creates a secret group.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import type { CreateSecretGroupInput, SecretGroupRef } from './schema.ts';

/** Empty, and attached to no app. */
export async function createSecretGroup(ctx: Ctx, input: CreateSecretGroupInput): Promise<SecretGroupRef> {
  const { tx, organizationId } = ctx;
  const { name, projectId } = input;
  const project = await tx.project.findFirst({
    where: { organizationId, ...(projectId === undefined ? {} : { id: projectId }) },
    select: { id: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (project === null) throw new AppError('environment.not_found', { projectId });
  const id = newId('scg');
  try {
    await tx.secretGroup.create({
      data: { id, organizationId, projectId: project.id, name, createdAt: ctx.clock.now() },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('secret.group_name_taken', { name }, { cause: error });
    throw error;
  }
  await recordAudit(ctx, {
    action: 'secret.create_group',
    target: { kind: 'secret_group', id, label: name },
    after: { project: project.id },
  });
  return { groupId: id };
}
