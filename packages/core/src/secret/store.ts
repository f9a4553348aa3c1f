// Reads secrets of an app or a group, with their current versions. Values stay in their envelopes.
import {
  type AppId,
  type EnvironmentId,
  parseId,
  type SecretGroupId,
  type SecretSnapshotId,
} from '@fairlead/contract/ids';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { requireNoPreview, requirePlacement } from '../placement/index.ts';
import type { StoredValue } from './data-key.ts';
import { type GroupNodes, type Resolved, resolve, type SecretNode } from './resolve.ts';
import { deliverySchema, type SecretOwner, type SecretView } from './schema.ts';

/** Owner of secrets: an app in an environment, or a group. */
export type Shelf =
  | { readonly appId: AppId; readonly environmentId: EnvironmentId; readonly groupId: null }
  | { readonly appId: null; readonly environmentId: null; readonly groupId: SecretGroupId };

/** Holds the app or the group until the transaction ends, so that two writers never give one secret the same number. */
export async function lockShelf(ctx: OrganizationCtx, owner: SecretOwner): Promise<Shelf> {
  const { organizationId } = ctx;
  if ('groupId' in owner) {
    const found = await ctx.tx.$queryRaw<unknown[]>`
      SELECT id FROM secret_group
      WHERE id = ${owner.groupId} AND organization_id = ${organizationId} AND deleted_at IS NULL FOR NO KEY UPDATE`;
    if (found.length === 0) throw new AppError('secret.group_not_found', { groupId: owner.groupId });
    return { appId: null, environmentId: null, groupId: owner.groupId };
  }
  await ctx.tx.$queryRaw`
    SELECT id FROM app WHERE id = ${owner.appId} AND organization_id = ${organizationId} FOR NO KEY UPDATE`;
  const { environmentId } = await requireAppPlacement(ctx, owner);
  await requireNoPreview(ctx, { environmentId });
  return { appId: owner.appId, environmentId, groupId: null };
}

/** An app in the environment that is named, else in its primary one, with its project and the snapshot of its live release. */
export async function requireAppPlacement(
  ctx: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId?: string | undefined },
) {
  const { organizationId } = ctx;
  const placement = await requirePlacement(ctx, { appId, environmentId });
  const { liveReleaseId } = placement;
  const app = await ctx.tx.app.findFirstOrThrow({
    where: { id: appId, organizationId },
    select: { name: true, projectId: true },
  });
  const liveRelease =
    liveReleaseId === null
      ? null
      : await ctx.tx.release.findFirstOrThrow({
          where: { id: liveReleaseId, organizationId },
          select: { secretSnapshotId: true },
        });
  return { ...placement, app, liveRelease };
}

export interface WhichSecrets {
  /** Includes deleted secrets, which may be restored. */
  readonly deletedToo?: true;
}

/** The whole secret and its group or app; throws secret.not_found for what was deleted. */
export async function requireSecret(ctx: OrganizationCtx, secretId: string, { deletedToo }: WhichSecrets = {}) {
  const secret = await ctx.tx.secret.findFirst({
    where: {
      id: secretId,
      organizationId: ctx.organizationId,
      ...(deletedToo === true ? {} : { deletedAt: null }),
      OR: [{ groupId: null }, { group: { deletedAt: null } }],
    },
    select: {
      id: true,
      name: true,
      number: true,
      appId: true,
      groupId: true,
      environmentId: true,
      deletedAt: true,
    },
  });
  if (secret === null) throw new AppError('secret.not_found', { secretId });
  return secret;
}

export async function lockSecret(ctx: OrganizationCtx, secretId: string, which: WhichSecrets = {}) {
  const { appId, environmentId, groupId } = await requireSecret(ctx, secretId, which);
  await lockShelf(
    ctx,
    groupId === null
      ? { appId: parseId('app', appId ?? ''), environmentId: parseId('env', environmentId ?? '') }
      : { groupId: parseId('scg', groupId) },
  );
  // Read again: it may have changed while we waited.
  return requireSecret(ctx, secretId, which);
}

export interface CurrentRow {
  readonly id: string;
  readonly groupId: string | null;
  readonly name: string;
  readonly number: number;
  readonly expiresAt: Date | null;
  readonly versionId: string;
  readonly delivery: string;
  readonly sealed: boolean;
  readonly atBuild: boolean;
  readonly references: string[];
  readonly sizeBytes: number;
  readonly createdAt: Date;
  readonly authorName: string | null;
}

/** The secrets that count, with their version in use, by name. */
export async function loadCurrent(
  ctx: OrganizationCtx,
  where: { readonly appId: string; readonly environmentId: string } | { readonly groupIds: readonly string[] },
): Promise<CurrentRow[]> {
  const groupIds = 'groupIds' in where ? [...where.groupIds] : [];
  const { appId, environmentId } = 'appId' in where ? where : { appId: null, environmentId: null };
  return ctx.tx.$queryRaw<CurrentRow[]>`
    SELECT secret.id, secret.group_id AS "groupId", secret.name, secret.number, secret.expires_at AS "expiresAt",
           version.id AS "versionId", version.delivery, version.sealed, version.at_build AS "atBuild",
           version."references", version.size_bytes AS "sizeBytes", version.created_at AS "createdAt", author.name AS "authorName"
    FROM secret
    JOIN secret_version AS version ON version.secret_id = secret.id AND version.number = secret.number
    LEFT JOIN "user" AS author ON author.id = version.author_user_id
    WHERE secret.organization_id = ${ctx.organizationId} AND secret.deleted_at IS NULL
      AND ((secret.app_id = ${appId} AND secret.environment_id = ${environmentId}) OR secret.group_id = ANY(${groupIds}))
    ORDER BY secret.name`;
}

export function viewOf(row: CurrentRow): SecretView {
  return {
    id: parseId('sec', row.id),
    name: row.name,
    number: row.number,
    delivery: deliverySchema.parse(row.delivery),
    sealed: row.sealed,
    atBuild: row.atBuild,
    references: row.references,
    expiresAt: row.expiresAt,
    updatedAt: row.createdAt,
    authorName: row.authorName,
  };
}

export interface LoadedGroup {
  readonly id: SecretGroupId;
  readonly name: string;
  readonly attached: boolean;
  readonly secrets: readonly CurrentRow[];
}

export interface LoadedShelves {
  readonly own: readonly CurrentRow[];
  readonly groups: readonly LoadedGroup[];
  readonly resolved: Resolved;
}

/**
 * Everything that an app's next release would choose from, and what it would choose. A preview has the secrets of the
 * environment that the app's previews use, and none of groups, which hold secrets of production too.
 */
export async function loadShelves(
  ctx: OrganizationCtx,
  app: { readonly appId: string; readonly environmentId: string; readonly projectId: string },
): Promise<LoadedShelves> {
  const { appId, projectId } = app;
  const source = await findPreviewSource(ctx, app);
  if (source !== null) {
    const inherited = await loadCurrent(ctx, { appId, environmentId: source });
    return { own: inherited, groups: [], resolved: resolve(inherited.map(nodeOf), []) };
  }
  const { environmentId } = app;
  const groups = await ctx.tx.secretGroup.findMany({
    where: { organizationId: ctx.organizationId, projectId, deletedAt: null },
    select: { id: true, name: true, apps: { where: { appId }, select: { appId: true } } },
    orderBy: { name: 'asc' },
  });
  const own = await loadCurrent(ctx, { appId, environmentId });
  const shared = groups.length === 0 ? [] : await loadCurrent(ctx, { groupIds: groups.map(({ id }) => id) });
  const byGroup = Map.groupBy(shared, ({ groupId }) => groupId);
  const loaded = groups.map((group) => ({
    id: parseId('scg', group.id),
    name: group.name,
    attached: group.apps.length > 0,
    secrets: byGroup.get(group.id) ?? [],
  }));
  const nodes = loaded.map((group): GroupNodes => ({ ...group, secrets: group.secrets.map(nodeOf) }));
  return { own, groups: loaded, resolved: resolve(own.map(nodeOf), nodes) };
}

/** Returns the environment whose secrets a preview has; null for other environments. */
async function findPreviewSource(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<string | null> {
  const environment = await tx.environment.findFirst({
    where: { id: environmentId, organizationId },
    select: { kind: true },
  });
  if (environment?.kind !== 'preview') return null;
  const policy = await tx.previewPolicy.findFirst({
    where: { appId, organizationId, placement: { environment: { protected: false } } },
  });
  // Without one that fits, it has no secrets.
  return policy?.environmentId ?? environmentId;
}

function nodeOf({ versionId, name, references, sizeBytes }: CurrentRow): SecretNode {
  return { versionId, name, references, sizeBytes };
}

interface StoredRow {
  readonly versionId: string;
  readonly envelope: Uint8Array<ArrayBuffer>;
  readonly dataKeyId: string;
  readonly wrapped: Uint8Array<ArrayBuffer>;
  readonly masterKeyId: string;
}

/** Envelopes with their keys, in one statement each: a rotation may replace both between two. */
export async function loadValues(
  ctx: OrganizationCtx,
  versionIds: readonly string[],
): Promise<Map<string, StoredValue>> {
  const rows = await ctx.tx.$queryRaw<StoredRow[]>`
    SELECT version.id AS "versionId", version.envelope, data_key.id AS "dataKeyId", data_key.wrapped,
           data_key.master_key_id AS "masterKeyId"
    FROM secret_version AS version JOIN data_key ON data_key.id = version.data_key_id
    WHERE version.organization_id = ${ctx.organizationId} AND version.id = ANY(${[...versionIds]})`;
  return new Map(
    rows.map(({ versionId, envelope, dataKeyId, wrapped, masterKeyId }) => [
      versionId,
      { versionId, envelope, dataKey: { id: dataKeyId, wrapped, masterKeyId } },
    ]),
  );
}

export async function requireValue(ctx: OrganizationCtx, versionId: string): Promise<StoredValue> {
  const value = (await loadValues(ctx, [versionId])).get(versionId);
  if (value === undefined) throw new AppError('secret.undecryptable', { versionId });
  return value;
}

export interface EntryRow {
  readonly versionId: string;
  readonly scope: string;
  readonly name: string;
  readonly exported: boolean;
}

export function loadEntries(ctx: OrganizationCtx, snapshotId: string): Promise<EntryRow[]> {
  return ctx.tx.secretSnapshotEntry.findMany({
    where: { snapshotId, organizationId: ctx.organizationId },
    select: { versionId: true, scope: true, name: true, exported: true },
  });
}

export function snapshotIdOf(id: string | null | undefined): SecretSnapshotId | null {
  return id === null || id === undefined ? null : parseId('scs', id);
}
