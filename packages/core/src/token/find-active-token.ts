// Finds the owner and the rights of a token.
// Invariant: unknown, expired, revoked and orphaned tokens give the same answer.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { AppError, hashToken, isInRanges, type SystemCtx } from '../kernel/index.ts';
import { findActiveMember } from '../member/index.ts';
import { loadRoleRights, type Rights } from '../role/index.ts';
import { tokenPermissionSchema } from './schema.ts';
import { isToken } from './token-format.ts';
import { type TokenPlace, tokenRights } from './token-rights.ts';

export interface ActiveToken {
  readonly tokenId: string;
  readonly organizationId: OrganizationId;
  readonly organizationSlug: string;
  /** Null: of a service account. */
  readonly userId: string | null;
  readonly rights: Rights;
}

const lastUsedEveryMs = 60_000;

/** System scope, because the token names its organization. Throws token.address_refused. */
export async function findActiveToken(
  ctx: SystemCtx,
  input: { readonly token: string; readonly ip: string | null },
): Promise<ActiveToken | null> {
  const row = isToken(input.token) ? await findRow(ctx, input.token) : null;
  const now = ctx.clock.now();
  if (row === null || row.revokedAt !== null || row.expiresAt <= now) return null;
  const owner = await rightsOfOwner(ctx, row);
  if (owner === null) return null;
  // An address without a trusted source counts as none, or the range would protect nothing.
  if (row.ipRanges.length > 0 && (input.ip === null || !isInRanges(input.ip, row.ipRanges)))
    throw new AppError('token.address_refused', { address: input.ip });
  if (row.lastUsedAt === null || now.getTime() - row.lastUsedAt.getTime() >= lastUsedEveryMs)
    await ctx.tx.apiToken.updateMany({ where: { id: row.id }, data: { lastUsedAt: now } });
  const permissions = tokenPermissionSchema.options.filter((permission) => row.permissions.includes(permission));
  return {
    tokenId: row.id,
    organizationId: parseId('org', row.organizationId),
    organizationSlug: row.organization.slug,
    userId: row.userId,
    rights: tokenRights(owner, new Set(permissions), placeOf(row)),
  };
}

type Row = NonNullable<Awaited<ReturnType<typeof findRow>>>;

function findRow(ctx: SystemCtx, token: string) {
  return ctx.tx.apiToken.findUnique({
    where: { hash: hashToken(token) },
    select: {
      id: true,
      organizationId: true,
      userId: true,
      permissions: true,
      ipRanges: true,
      expiresAt: true,
      revokedAt: true,
      lastUsedAt: true,
      organization: { select: { slug: true } },
      serviceAccount: { select: { role: true } },
      project: { select: { id: true, environments: { select: { id: true } } } },
      environment: { select: { id: true, projectId: true } },
    },
  });
}

/** Returns current rights: a person who left the organization or lost a right lost it for their tokens as well. */
async function rightsOfOwner(ctx: SystemCtx, row: Row): Promise<Rights | null> {
  const { organizationId, organization, userId, serviceAccount } = row;
  if (userId !== null) {
    const member = await findActiveMember(ctx, { userId, organizationSlug: organization.slug });
    if (member === null) return null;
    // The organization's rule holds for what acts in a person's name, too.
    if (member.requiresTwoFactor && !(await hasSecondFactor(ctx, userId))) return null;
    return member.rights;
  }
  return serviceAccount === null
    ? null
    : loadRoleRights(ctx, { organizationId: parseId('org', organizationId), role: serviceAccount.role });
}

async function hasSecondFactor(ctx: SystemCtx, userId: string): Promise<boolean> {
  const [found] = await ctx.tx.$queryRaw<{ has: boolean }[]>`
    SELECT two_factor_enabled OR EXISTS (SELECT FROM passkey WHERE passkey.user_id = "user".id) AS has
    FROM "user" WHERE id = ${userId}`;
  return found?.has === true;
}

function placeOf({ project, environment }: Row): TokenPlace {
  if (project !== null) {
    return { kind: 'project', projectId: project.id, environmentIds: project.environments.map(({ id }) => id) };
  }
  if (environment === null) return { kind: 'everywhere' };
  return { kind: 'environment', projectId: environment.projectId, environmentId: environment.id };
}
