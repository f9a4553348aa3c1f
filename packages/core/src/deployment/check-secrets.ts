// Checks that a deployment's secrets can reach its servers; returns the failure that it would end with.

import type { OrganizationCtx } from '../kernel/index.ts';
import { canOpenSecrets, createSnapshot } from '../secret/index.ts';
import type { Failure } from './machine.ts';

export interface CheckedSecrets {
  readonly snapshotId: string | null;
  readonly failure: Failure | null;
}

type Servers = readonly { readonly serverId: string }[];

/** The newest secrets, for a release that is about to be made. The app is locked. */
export async function createCheckedSnapshot(
  ctx: OrganizationCtx,
  placement: { readonly appId: string; readonly environmentId: string },
  servers: Servers,
): Promise<CheckedSecrets> {
  const { snapshotId, problem } = await createSnapshot(ctx, placement);
  if (problem !== null) return { snapshotId: null, failure: { code: 'secret.unresolved', message: problem } };
  return { snapshotId, failure: await checkSecrets(ctx, servers, snapshotId) };
}

/** Null if there are no secrets, or if every server has sent the key that they are sealed to. */
export async function checkSecrets(
  ctx: OrganizationCtx,
  servers: Servers,
  snapshotId: string | null,
): Promise<Failure | null> {
  if (snapshotId === null) return null;
  for (const { serverId } of servers) {
    if (!(await canOpenSecrets(ctx, serverId))) return { code: 'secret.server_cannot_open', message: null };
  }
  return null;
}
