// Displayed columns of a token, and the insertion of its row.
// Invariant: it never reads or returns the hash.
import { newId, parseId } from '@fairlead/contract/ids';
import { type AuditFields, recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, hashToken } from '../kernel/index.ts';
import { permissionSchema, type Scope } from '../role/index.ts';
import type { CreatedToken, CreateTokenInput, TokenView } from './schema.ts';
import { newToken } from './token-format.ts';

export const tokenColumns = {
  id: true,
  name: true,
  hint: true,
  serviceAccountId: true,
  permissions: true,
  projectId: true,
  environmentId: true,
  ipRanges: true,
  createdAt: true,
  expiresAt: true,
  lastUsedAt: true,
} as const;

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly serviceAccountId: string | null;
  readonly permissions: string[];
  readonly projectId: string | null;
  readonly environmentId: string | null;
  readonly ipRanges: string[];
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly lastUsedAt: Date | null;
}

export function toTokenView(row: TokenRow, now: Date): TokenView {
  const { serviceAccountId, projectId, environmentId } = row;
  return {
    ...row,
    id: parseId('tok', row.id),
    serviceAccountId: serviceAccountId === null ? null : parseId('sva', serviceAccountId),
    permissions: permissionSchema.options.filter((permission) => row.permissions.includes(permission)),
    projectId: projectId === null ? null : parseId('prj', projectId),
    environmentId: environmentId === null ? null : parseId('env', environmentId),
    expired: row.expiresAt <= now,
  };
}

const dayMs = 24 * 60 * 60 * 1000;
const hintLength = 4;
const tokensMax = 100;

/** Null: everywhere. */
export type TokenWhere = Scope | null;

type TokenOwner = { readonly userId: string } | { readonly serviceAccountId: string };

/** Stores a token. `requireMay` throws if the maker may not give it its permissions in its scope. */
export async function insertToken(
  ctx: Ctx,
  owner: TokenOwner,
  input: CreateTokenInput,
  requireMay: (where: TokenWhere) => void,
): Promise<CreatedToken> {
  const { tx, organizationId } = ctx;
  const count = await tx.apiToken.count({ where: { organizationId, ...owner, revokedAt: null } });
  if (count >= tokensMax) throw new AppError('token.too_many', { max: tokensMax });
  requireMay(await findPlace(ctx, input));
  const now = ctx.clock.now();
  const token = newToken();
  const row = await tx.apiToken.create({
    data: {
      id: newId('tok'),
      organizationId,
      ...owner,
      createdByUserId: actorUserId(ctx.actor),
      name: input.name,
      hash: hashToken(token),
      hint: token.slice(-hintLength),
      permissions: [...new Set(input.permissions)].sort(),
      projectId: input.projectId ?? null,
      environmentId: input.environmentId ?? null,
      ipRanges: input.ipRanges,
      createdAt: now,
      expiresAt: new Date(now.getTime() + input.lifetimeDays * dayMs),
    },
    select: tokenColumns,
  });
  await recordAudit(ctx, {
    action: 'token.create',
    target: { kind: 'token', id: row.id, label: row.name },
    after: auditedToken(row),
  });
  return { ...toTokenView(row, now), token };
}

function auditedToken(row: TokenRow): AuditFields {
  const { name, hint, serviceAccountId, permissions, projectId, environmentId, ipRanges, expiresAt } = row;
  return {
    name,
    hint,
    serviceAccountId,
    permissions,
    projectId,
    environmentId,
    ipRanges,
    expiresAt: expiresAt.toISOString(),
  };
}

async function findPlace(ctx: Ctx, { projectId, environmentId }: CreateTokenInput): Promise<TokenWhere> {
  const { tx, organizationId } = ctx;
  if (environmentId !== undefined) {
    const row = await tx.environment.findFirst({
      where: { id: environmentId, organizationId },
      select: { projectId: true },
    });
    if (row === null) throw new AppError('environment.not_found', { environmentId });
    return { projectId: row.projectId, environmentId };
  }
  if (projectId === undefined) return null;
  const row = await tx.project.findFirst({ where: { id: projectId, organizationId }, select: { id: true } });
  if (row === null) throw new AppError('environment.not_found', { projectId });
  return { projectId, environmentId: null };
}

/** Revokes a token permanently. Throws token.not_found for one that is not `of` that owner, or has ended already. */
export async function endToken(
  ctx: Ctx,
  tokenId: string,
  of: TokenOwner | { serviceAccountId: { not: null } } | { userId: { not: null } },
) {
  const { tx, organizationId } = ctx;
  const where = { id: tokenId, organizationId, revokedAt: null, ...of };
  const row = await tx.apiToken.findFirst({ where, select: { ...tokenColumns, user: { select: { email: true } } } });
  const { count } = await tx.apiToken.updateMany({ where, data: { revokedAt: ctx.clock.now() } });
  if (row === null || count === 0) throw new AppError('token.not_found', { tokenId });
  await recordAudit(ctx, {
    action: 'token.revoke',
    target: { kind: 'token', id: row.id, label: row.user === null ? row.name : `${row.name} of ${row.user.email}` },
    before: auditedToken(row),
  });
}
