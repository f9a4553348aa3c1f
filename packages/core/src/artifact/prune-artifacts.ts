// Deletes artifacts that no kept release, snapshot, running deployment or upgrade needs. A grace period comes first, in which
// the artifact can be used again.
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import { findKeptReleases } from '../release/index.ts';
import type { ArtifactKey, StoredFile } from './store.ts';

export const artifactGraceMs = 24 * 60 * 60_000;

/** Answers what is to be deleted from the store once this has committed. Runs above organizations. */
export async function pruneArtifacts(ctx: SystemCtx): Promise<ArtifactKey[]> {
  const owners = await ctx.tx.artifact.findMany({ distinct: ['organizationId'], select: { organizationId: true } });
  const gone: ArtifactKey[] = [];
  for (const { organizationId } of owners) {
    const scoped = forOrganization(ctx, parseId('org', organizationId));
    gone.push(...(await pruneOf(scoped, [...(await findNeeded(scoped))])));
  }
  return gone;
}

/** Removes files without a row that are older than the time in which a new file's row is written. Runs above organizations. */
export async function findOrphans(ctx: SystemCtx, files: readonly StoredFile[]): Promise<ArtifactKey[]> {
  const before = ctx.clock.now().getTime() - artifactGraceMs;
  const old = files.filter(({ modifiedAt }) => modifiedAt.getTime() < before);
  const rows = await ctx.tx.artifact.findMany({
    where: { OR: old.map(({ organizationId, hex }) => ({ organizationId, digest: `sha256:${hex}` })) },
    select: { organizationId: true, digest: true },
  });
  const known = new Set(rows.map(({ organizationId, digest }) => `${organizationId} ${digest}`));
  return old.filter(({ organizationId, hex }) => !known.has(`${organizationId} sha256:${hex}`));
}

async function findNeeded(ctx: OrganizationCtx): Promise<Set<string>> {
  const { tx, organizationId } = ctx;
  const placements = await tx.placement.findMany({
    where: { organizationId, servers: { some: {} } },
    select: { appId: true, environmentId: true },
  });
  const kept = await findKeptReleases(ctx, placements);
  const underWay = await tx.deployment.findMany({
    where: { organizationId, state: { in: ['queued', 'building', 'releasing', 'rolling_out'] } },
    select: { uploadDigest: true, release: { select: { artifactDigest: true } } },
  });
  const agents = await tx.$queryRaw<{ digest: string }[]>`
    SELECT upgrade->>'digest' AS digest FROM server
    WHERE organization_id = ${organizationId} AND upgrade->>'state' = 'running'`;
  const rollouts = await tx.$queryRaw<{ digest: string }[]>`
    SELECT offer->>'digest' AS digest FROM agent_rollout, jsonb_array_elements(offers) AS offer
    WHERE organization_id = ${organizationId} AND state IN ('running', 'stopped')`;
  const snapshots = await tx.volumeSnapshot.findMany({
    where: { organizationId, state: { not: 'failed' }, digest: { not: null } },
    select: { digest: true },
  });
  return new Set([
    ...snapshots.flatMap(({ digest }) => digest ?? []),
    ...rollouts.map(({ digest }) => digest),
    ...agents.map(({ digest }) => digest),
    ...kept.map(({ artifactDigest }) => artifactDigest),
    ...underWay.flatMap(({ uploadDigest, release }) => [uploadDigest ?? [], release?.artifactDigest ?? []].flat()),
  ]);
}

async function pruneOf(ctx: OrganizationCtx, needed: string[]): Promise<ArtifactKey[]> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  await tx.artifact.updateMany({ where: { organizationId, digest: { in: needed } }, data: { unneededSince: null } });
  await tx.artifact.updateMany({
    where: { organizationId, digest: { notIn: needed }, unneededSince: null },
    data: { unneededSince: now },
  });
  const gone = await tx.$queryRaw<{ digest: string }[]>`
    DELETE FROM artifact
    WHERE organization_id = ${organizationId} AND unneeded_since <= ${new Date(now.getTime() - artifactGraceMs)}
    RETURNING digest`;
  return gone.map(({ digest }) => ({ organizationId, hex: digest.slice('sha256:'.length) }));
}
