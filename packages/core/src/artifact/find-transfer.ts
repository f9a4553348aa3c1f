// Decides which server may read and write which artifact. A server reads the artifacts released on it, uploaded for
// its builds, offered as its agent, or to be restored there. It writes only what its own builds or snapshots named or made.
// Invariant: never answers for another organization.
import { createHash } from 'node:crypto';
import { newId, type OrganizationId, parseId, type ServerId } from '@fairlead/contract/ids';
import { forOrganization, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';

export interface Transfer {
  readonly serverId: ServerId;
  readonly organizationId: OrganizationId;
  readonly mayRead: boolean;
  readonly mayWrite: boolean;
  /** Kind of the artifact that it may write. */
  readonly kind: 'build' | 'volume';
}

/** As it is stored: a stolen table opens nothing. */
export function hashTransferToken(token: string): string {
  return createHash('sha256').update(`fairlead-transfer-v1\n${token}`).digest('hex');
}

export interface TransferQuery {
  readonly token: string;
  readonly digest: string;
  /** Build that reports the artifact as its result; null for readers. */
  readonly deploymentId: string | null;
  /** Snapshot that has the artifact as its result. */
  readonly volumeTaskId: string | null;
}

/** Null when no open session has that token. */
export async function findTransfer(ctx: SystemCtx, query: TransferQuery): Promise<Transfer | null> {
  const { token, digest, deploymentId, volumeTaskId } = query;
  const server = await ctx.tx.server.findFirst({
    where: { transferTokenHash: hashTransferToken(token), connectedGateway: { not: null } },
    select: { id: true, organizationId: true },
  });
  if (server === null) return null;
  const serverId = parseId('srv', server.id);
  const organizationId = parseId('org', server.organizationId);
  const scoped = forOrganization(ctx, organizationId);
  return {
    serverId,
    organizationId,
    mayRead: await mayRead(scoped, serverId, digest),
    ...(volumeTaskId === null
      ? { kind: 'build', mayWrite: await mayWrite(scoped, { serverId, digest, deploymentId }) }
      : { kind: 'volume', mayWrite: await mayWriteSnapshot(scoped, { serverId, digest, volumeTaskId }) }),
  };
}

async function mayRead(ctx: OrganizationCtx, serverId: string, digest: string): Promise<boolean> {
  const { organizationId } = ctx;
  const [found] = await ctx.tx.$queryRaw<{ readable: boolean }[]>`
    SELECT EXISTS (
      SELECT 1 FROM release
      JOIN placement ON placement.app_id = release.app_id AND placement.environment_id = release.environment_id
      JOIN placement_server ON placement_server.placement_id = placement.id
      WHERE release.organization_id = ${organizationId} AND release.artifact_digest = ${digest}
        AND placement_server.server_id = ${serverId}
    ) OR EXISTS (
      SELECT 1 FROM deployment
      WHERE deployment.organization_id = ${organizationId} AND deployment.upload_digest = ${digest}
        AND deployment.build_server_id = ${serverId} AND deployment.state = 'building'
    ) OR EXISTS (
      SELECT 1 FROM server
      WHERE server.organization_id = ${organizationId} AND server.id = ${serverId}
        AND server.upgrade->>'digest' = ${digest} AND server.upgrade->>'state' = 'running'
    ) OR EXISTS (
      SELECT 1 FROM volume_restore
      JOIN volume_move ON volume_move.id = volume_restore.move_id AND volume_move.state = 'restoring'
      JOIN volume_snapshot ON volume_snapshot.id = volume_restore.snapshot_id AND volume_snapshot.state = 'stored'
      WHERE volume_restore.organization_id = ${organizationId} AND volume_restore.server_id = ${serverId}
        AND volume_restore.state = 'running' AND volume_snapshot.digest = ${digest}
    ) AS readable`;
  return found?.readable ?? false;
}

interface WriteQuestion {
  readonly serverId: string;
  readonly digest: string;
  readonly deploymentId: string | null;
}

/**
 * A build under way on this server names what it made and may write that one; a build that was begun anew names another.
 * Later, what came too late is still taken: a release says that this server made it.
 */
async function mayWrite(ctx: OrganizationCtx, { serverId, digest, deploymentId }: WriteQuestion): Promise<boolean> {
  const { organizationId } = ctx;
  if (deploymentId !== null) {
    const { count } = await ctx.tx.deployment.updateMany({
      where: { id: deploymentId, organizationId, buildServerId: serverId, state: 'building' },
      data: { builtDigest: digest },
    });
    if (count > 0) return true;
  }
  const built = { organizationId, builtOnServerId: serverId, artifactDigest: digest };
  return (await ctx.tx.release.count({ where: built })) > 0;
}

/** A snapshot that runs on this server names its artifact; one that is packed again names another. */
async function mayWriteSnapshot(
  { tx, organizationId }: OrganizationCtx,
  {
    serverId,
    digest,
    volumeTaskId,
  }: { readonly serverId: string; readonly digest: string; readonly volumeTaskId: string },
): Promise<boolean> {
  const { count } = await tx.volumeSnapshot.updateMany({
    where: { id: volumeTaskId, organizationId, serverId, state: 'running' },
    data: { digest },
  });
  return count > 0;
}

export interface StoredArtifact {
  readonly digest: string;
  readonly kind: 'build' | 'upload' | 'agent' | 'volume';
  readonly sizeBytes: number;
}

/** The row that makes an artifact of the store count. */
export async function recordArtifact(ctx: OrganizationCtx, artifact: StoredArtifact): Promise<void> {
  const { organizationId } = ctx;
  const { digest, kind, sizeBytes } = artifact;
  await ctx.tx.artifact.upsert({
    where: { organizationId_digest: { organizationId, digest } },
    create: {
      id: newId('art'),
      organizationId,
      digest,
      kind,
      sizeBytes: BigInt(sizeBytes),
      createdAt: ctx.clock.now(),
    },
    update: { unneededSince: null },
  });
}
