// Owns finding who shows a token. Must never tell an unknown token from an expired, revoked or orphaned one.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { AppError, hashToken, isInRanges, type SystemCtx } from '../kernel/index.ts';
import { isToken } from './format.ts';
import { type TokenPermission, tokenPermissionSchema } from './schema.ts';

/** What a token is allowed to be used for; whose it is decides whether that is more than nothing. */
export interface ActiveToken {
  readonly tokenId: string;
  readonly organizationId: OrganizationId;
  readonly organizationSlug: string;
  readonly owner:
    | { readonly kind: 'person'; readonly userId: string }
    | { readonly kind: 'service_account'; readonly serviceAccountId: string; readonly role: string };
  readonly permissions: ReadonlySet<TokenPermission>;
  readonly projectId: string | null;
  readonly environmentId: string | null;
}

const lastUsedEveryMs = 60_000;

/** System scope, because the token says which organization it is for. Throws token.address_refused. */
export async function findActiveToken(
  ctx: SystemCtx,
  input: { readonly token: string; readonly ip: string | null },
): Promise<ActiveToken | null> {
  if (!isToken(input.token)) return null;
  const now = ctx.clock.now();
  const row = await ctx.tx.apiToken.findUnique({
    where: { hash: hashToken(input.token) },
    select: {
      id: true,
      organizationId: true,
      userId: true,
      permissions: true,
      projectId: true,
      environmentId: true,
      ipRanges: true,
      expiresAt: true,
      revokedAt: true,
      lastUsedAt: true,
      organization: { select: { slug: true } },
      serviceAccount: { select: { id: true, role: true } },
    },
  });
  if (row === null || row.revokedAt !== null || row.expiresAt <= now) return null;
  const owner = ownerOf(row);
  if (owner === null) return null;
  // An address that nobody trusted vouches for is none: the range would not hold anybody off.
  if (row.ipRanges.length > 0 && (input.ip === null || !isInRanges(input.ip, row.ipRanges)))
    throw new AppError('token.address_refused', { address: input.ip });
  if (row.lastUsedAt === null || now.getTime() - row.lastUsedAt.getTime() >= lastUsedEveryMs)
    await ctx.tx.apiToken.updateMany({ where: { id: row.id }, data: { lastUsedAt: now } });
  const allowed = tokenPermissionSchema.options.filter((permission) => row.permissions.includes(permission));
  return {
    tokenId: row.id,
    organizationId: parseId('org', row.organizationId),
    organizationSlug: row.organization.slug,
    owner,
    permissions: new Set(allowed),
    projectId: row.projectId,
    environmentId: row.environmentId,
  };
}

function ownerOf(row: {
  readonly userId: string | null;
  readonly serviceAccount: { readonly id: string; readonly role: string } | null;
}): ActiveToken['owner'] | null {
  if (row.userId !== null) return { kind: 'person', userId: row.userId };
  if (row.serviceAccount === null) return null;
  return { kind: 'service_account', serviceAccountId: row.serviceAccount.id, role: row.serviceAccount.role };
}
