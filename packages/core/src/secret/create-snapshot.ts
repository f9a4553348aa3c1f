// Selects the secret versions of a release. It needs no key: references are stored apart from the values.
import { createHash } from 'node:crypto';
import { newId, type SecretSnapshotId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import { checkSecretsBudget } from './check-secrets-budget.ts';
import { loadShelves, snapshotIdOf } from './store.ts';

export interface SnapshotPlacement {
  readonly appId: string;
  readonly environmentId: string;
}

export type SnapshotResult =
  /** Null: the app has no secrets. */
  | { readonly snapshotId: SecretSnapshotId | null; readonly problem: null }
  /** A whole sentence that says what to do. */
  | { readonly snapshotId: null; readonly problem: string };

/** The newest secrets of an app; the same choice is the same snapshot. */
export async function createSnapshot(ctx: OrganizationCtx, placement: SnapshotPlacement): Promise<SnapshotResult> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId } = placement;
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { projectId: true } });
  const { resolved } = await loadShelves(ctx, { appId, environmentId, projectId: app.projectId });
  const [problem] = resolved.problems;
  if (problem !== undefined) return { snapshotId: null, problem };
  if (resolved.entries.length === 0) return { snapshotId: null, problem: null };

  const digest = createHash('sha256').update(JSON.stringify(resolved.entries)).digest('hex');
  const key = { appId_environmentId_digest: { appId, environmentId, digest } };
  const known = await tx.secretSnapshot.findUnique({ where: key, select: { id: true } });
  const noRoom = await checkSecretsBudget(ctx, placement, { id: known?.id ?? null, bytes: resolved.bytes });
  if (noRoom !== null) return { snapshotId: null, problem: noRoom };
  if (known !== null) return { snapshotId: snapshotIdOf(known.id), problem: null };
  const id = newId('scs');
  // Callers hold the app's lock, so two of them never make the same snapshot at the same time.
  await tx.secretSnapshot.create({
    data: { id, organizationId, appId, environmentId, digest, sizeBytes: resolved.bytes, createdAt: ctx.clock.now() },
  });
  await tx.secretSnapshotEntry.createMany({
    data: resolved.entries.map((entry) => ({ ...entry, snapshotId: id, organizationId })),
  });
  return { snapshotId: id, problem: null };
}

/** The snapshot when anything that it gives is marked for builds; else null. */
export async function findBuildSnapshot(ctx: OrganizationCtx, snapshotId: string | null): Promise<string | null> {
  if (snapshotId === null) return null;
  const marked = await ctx.tx.secretSnapshotEntry.findFirst({
    where: { snapshotId, organizationId: ctx.organizationId, exported: true, version: { atBuild: true } },
    select: { versionId: true },
  });
  return marked === null ? null : snapshotId;
}

/** True if the server has sent the key that secrets are sealed to. */
export async function canOpenSecrets(ctx: OrganizationCtx, serverId: string): Promise<boolean> {
  const server = await ctx.tx.server.findFirst({
    where: { id: serverId, organizationId: ctx.organizationId },
    select: { sealingRecipient: true },
  });
  return server !== null && server.sealingRecipient !== null;
}
