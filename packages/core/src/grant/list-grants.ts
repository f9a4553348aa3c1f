// Lists grants: the roles of members beyond the one in the organization.
import { parseId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';
import { memberRoleSchema } from '../role/index.ts';
import type { GrantList, ListGrantsInput } from './schema.ts';

/** Lists the grants of one member, or of all. Throws member.not_found. */
export async function listGrants(ctx: Ctx, input: ListGrantsInput): Promise<GrantList> {
  const { organizationId } = ctx;
  const { memberId } = input;
  if (memberId !== undefined && (await ctx.tx.member.count({ where: { id: memberId, organizationId } })) === 0) {
    throw new AppError('member.not_found', { memberId });
  }
  const rows = await ctx.tx.roleGrant.findMany({
    where: { organizationId, ...(memberId === undefined ? {} : { memberId }) },
    include: {
      project: { select: { name: true } },
      environment: { select: { name: true, project: { select: { name: true } } } },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return {
    items: rows.map((row) => ({
      id: parseId('grt', row.id),
      memberId: parseId('mem', row.memberId),
      role: memberRoleSchema.parse(row.role),
      scope:
        row.environmentId !== null
          ? { kind: 'environment', environmentId: parseId('env', row.environmentId) }
          : row.projectId !== null
            ? { kind: 'project', projectId: parseId('prj', row.projectId) }
            : { kind: 'organization' },
      scopeName:
        row.environment !== null
          ? `${row.environment.project.name} / ${row.environment.name}`
          : (row.project?.name ?? null),
      createdAt: row.createdAt,
    })),
  };
}
