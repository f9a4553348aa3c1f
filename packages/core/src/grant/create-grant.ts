// Grants a member a further role: in the organization, a project or an environment.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import { type Rights, requireMayAssign, type Scope, wholeOrganization } from '../role/index.ts';
import type { CreateGrantInput, GrantRef, GrantScope } from './schema.ts';

export async function createGrant(ctx: Ctx, input: CreateGrantInput, by: Rights): Promise<GrantRef> {
  const { organizationId } = ctx;
  const { memberId, role } = input;
  const member = await ctx.tx.member.findFirst({
    where: { id: memberId, organizationId },
    select: { user: { select: { email: true } } },
  });
  if (member === null) throw new AppError('member.not_found', { memberId });
  const scope = await requireScope(ctx, input.scope);
  await requireMayAssign(ctx, by, { from: null, to: role }, scope);
  const grantId = newId('grt');
  try {
    await ctx.tx.roleGrant.create({
      data: {
        id: grantId,
        organizationId,
        memberId,
        role,
        // An environment's row already names its project.
        projectId: scope.environmentId === null ? scope.projectId : null,
        environmentId: scope.environmentId,
        createdAt: ctx.clock.now(),
      },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('grant.exists', {}, { cause: error });
    throw error;
  }
  await recordAudit(ctx, {
    action: 'grant.create',
    target: { kind: 'member', id: memberId, label: member.user.email },
    after: { role, ...scope },
  });
  return { grantId };
}

async function requireScope(ctx: Ctx, scope: GrantScope): Promise<Scope> {
  const { organizationId } = ctx;
  switch (scope.kind) {
    case 'organization':
      return wholeOrganization;
    case 'project': {
      const { projectId } = scope;
      if ((await ctx.tx.project.count({ where: { id: projectId, organizationId } })) === 0) {
        throw new AppError('project.not_found', { projectId });
      }
      return { projectId, environmentId: null };
    }
    case 'environment': {
      const { environmentId } = scope;
      const row = await ctx.tx.environment.findFirst({
        where: { id: environmentId, organizationId },
        select: { projectId: true },
      });
      if (row === null) throw new AppError('environment.not_found', { environmentId });
      return { projectId: row.projectId, environmentId };
    }
  }
}
