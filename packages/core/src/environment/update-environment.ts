// Owns the settings of an environment: whether deployments to it wait for another member.
import { recordAudit } from '../audit/index.ts';
import { requestApprovals } from '../deployment/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { EnvironmentRef, UpdateEnvironmentInput } from './schema.ts';

/**
 * Protection holds from now on, also for what waits in the queue. When it ends, what waits for approval goes on waiting:
 * nothing is let through that somebody was asked to look at.
 */
export async function updateEnvironment(ctx: Ctx, input: UpdateEnvironmentInput): Promise<EnvironmentRef> {
  const { organizationId } = ctx;
  const { environmentId } = input;
  // Whoever starts a deployment shares this lock, so that none slips in between.
  const [row] = await ctx.tx.$queryRaw<{ name: string; protected: boolean }[]>`
    SELECT name, protected FROM environment
    WHERE id = ${environmentId} AND organization_id = ${organizationId} FOR NO KEY UPDATE`;
  if (row === undefined) throw new AppError('environment.not_found', { environmentId });
  if (row.protected === input.protected) return { environmentId };
  await ctx.tx.environment.updateMany({
    where: { id: environmentId, organizationId },
    data: { protected: input.protected },
  });
  if (input.protected) await requestApprovals(ctx, { environmentId });
  await recordAudit(ctx, {
    action: 'environment.update',
    target: { kind: 'environment', id: environmentId, label: row.name },
    before: { protected: row.protected },
    after: { protected: input.protected },
  });
  return { environmentId };
}
