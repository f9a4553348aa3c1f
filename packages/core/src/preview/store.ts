// Reads previews with what decides about them.
// Invariant: the app is locked before a preview is read to change it.
import { type AppId, type EnvironmentId, type PreviewId, parseId } from '@fairlead/contract/ids';
import { findProtected } from '../deployment/index.ts';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { findPlacement, lockApps, type Placement } from '../placement/index.ts';
import type { PolicyRules, PreviewFacts } from './decide-preview.ts';
import { type PreviewState, previewStateSchema } from './schema.ts';

export interface PreviewRow extends PreviewFacts {
  readonly id: PreviewId;
  readonly appId: AppId;
  readonly repositoryId: bigint;
  readonly number: number;
  readonly title: string;
  readonly author: string;
  readonly headRef: string;
  readonly formerHash: string;
  readonly changedAt: Date;
  readonly approvedByUserId: string | null;
  readonly deployedHash: string | null;
  readonly state: PreviewState;
  readonly problem: string;
  readonly environmentId: EnvironmentId | null;
}

const columns = {
  id: true,
  appId: true,
  repositoryId: true,
  number: true,
  title: true,
  author: true,
  headRef: true,
  headHash: true,
  formerHash: true,
  isFork: true,
  isDraft: true,
  isOpen: true,
  changedAt: true,
  pushedAt: true,
  approvedHash: true,
  approvedByUserId: true,
  removedHash: true,
  deployedHash: true,
  state: true,
  problem: true,
  environmentId: true,
} as const;

type RawRow = Omit<PreviewRow, 'id' | 'appId' | 'state' | 'environmentId'> & {
  readonly id: string;
  readonly appId: string;
  readonly state: string;
  readonly environmentId: string | null;
};

function toRow(row: RawRow): PreviewRow {
  return {
    ...row,
    id: parseId('prv', row.id),
    appId: parseId('app', row.appId),
    state: previewStateSchema.parse(row.state),
    environmentId: row.environmentId === null ? null : parseId('env', row.environmentId),
  };
}

/** Null if there is none, or its app is deleted. */
export async function findPreview(
  { tx, organizationId }: OrganizationCtx,
  where:
    | { readonly id: string }
    | { readonly appId: string; readonly repositoryId: bigint; readonly number: number }
    | { readonly environmentId: string },
): Promise<PreviewRow | null> {
  const row = await tx.preview.findFirst({ where: { ...where, organizationId }, select: columns });
  return row === null ? null : toRow(row);
}

export async function loadPreviews(
  { tx, organizationId }: OrganizationCtx,
  where: { readonly appId: string; readonly isOpen?: boolean },
): Promise<PreviewRow[]> {
  const rows = await tx.preview.findMany({
    where: { ...where, organizationId },
    select: columns,
    orderBy: [{ pushedAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map(toRow);
}

/** Locks the app of a preview and reads it again. Null if there is none. */
export async function lockPreview(ctx: OrganizationCtx, id: string): Promise<PreviewRow | null> {
  const seen = await findPreview(ctx, { id });
  if (seen === null) return null;
  await lockApps(ctx, [seen.appId]);
  return findPreview(ctx, { id });
}

/** Throws preview.not_found. */
export async function requireLockedPreview(ctx: OrganizationCtx, id: PreviewId): Promise<PreviewRow> {
  const row = await lockPreview(ctx, id);
  if (row === null) throw new AppError('preview.not_found', { previewId: id });
  return row;
}

export interface Policy extends PolicyRules {
  readonly environmentId: EnvironmentId;
}

/** Null: previews of the app were never switched on. */
export async function findPolicy(
  { tx, organizationId }: OrganizationCtx,
  { appId }: { readonly appId: string },
): Promise<Policy | null> {
  const row = await tx.previewPolicy.findFirst({ where: { appId, organizationId } });
  return row === null ? null : { ...row, environmentId: parseId('env', row.environmentId) };
}

export interface PreviewSource {
  /** Placement of the app in the environment that previews use; null: it has left. */
  readonly placement: Placement | null;
  /** Protected since it was chosen, so previews may not have its secrets any more. */
  readonly isProtected: boolean;
  /** Base domain of the server that would run a new preview. */
  readonly baseDomain: string | null;
}

export async function findSource(
  ctx: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<PreviewSource> {
  const { tx, organizationId } = ctx;
  const placement = await findPlacement(ctx, { appId, environmentId });
  const isProtected = (await findProtected(ctx, [environmentId])).length > 0;
  if (placement === null) return { placement, isProtected, baseDomain: null };
  const server = await tx.server.findFirst({
    where: { id: placement.serverId, organizationId },
    select: { baseDomain: true },
  });
  return { placement, isProtected, baseDomain: server?.baseDomain ?? null };
}

/** True if an installation reaches the repository; a suspended one may come back. */
export async function isLinked(
  { tx, organizationId }: OrganizationCtx,
  { appId, repositoryId }: { readonly appId: string; readonly repositoryId?: bigint },
): Promise<boolean> {
  const link = { appId, organizationId, lostAt: null, installation: { removedAt: null } };
  return (await tx.appRepository.count({ where: repositoryId === undefined ? link : { ...link, repositoryId } })) > 0;
}
