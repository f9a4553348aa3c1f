// Lists the versions of a secret: author and time, never the value.
import type { Ctx } from '../kernel/index.ts';
import { deliverySchema, type SecretHistory, type SecretRef } from './schema.ts';
import { loadEntries, requireAppPlacement, requireSecret } from './store.ts';

interface VersionRow {
  readonly id: string;
  readonly number: number;
  readonly delivery: string;
  readonly sealed: boolean;
  readonly atBuild: boolean;
  readonly references: string[];
  readonly createdAt: Date;
  readonly authorName: string | null;
}

/** Newest first. */
export async function listSecretVersions(ctx: Ctx, input: SecretRef): Promise<SecretHistory> {
  const secret = await requireSecret(ctx, input.secretId);
  const rows = await ctx.tx.$queryRaw<VersionRow[]>`
    SELECT version.id, version.number, version.delivery, version.sealed, version.at_build AS "atBuild",
           version."references", version.created_at AS "createdAt", author.name AS "authorName"
    FROM secret_version AS version LEFT JOIN "user" AS author ON author.id = version.author_user_id
    WHERE version.organization_id = ${ctx.organizationId} AND version.secret_id = ${secret.id}
    ORDER BY version.number DESC`;
  const { appId, environmentId } = secret;
  const placement = appId === null ? null : { appId, environmentId: environmentId ?? undefined };
  const live = placement === null ? null : (await requireAppPlacement(ctx, placement)).liveRelease;
  const entries = live?.secretSnapshotId ? await loadEntries(ctx, live.secretSnapshotId) : [];
  const liveIds = new Set(entries.map(({ versionId }) => versionId));
  return {
    name: secret.name,
    versions: rows.map(({ id, ...row }) => ({
      ...row,
      delivery: deliverySchema.parse(row.delivery),
      isCurrent: row.number === secret.number,
      isLive: liveIds.has(id),
    })),
  };
}
