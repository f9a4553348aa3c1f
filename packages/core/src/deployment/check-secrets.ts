// Owns whether a deployment's secrets can reach its server, as the failure that the deployment would end with.

import type { OrganizationCtx } from '../kernel/index.ts';
import { canOpenSecrets, createSnapshot } from '../secret/index.ts';
import type { Failure } from './machine.ts';

export interface CheckedSecrets {
  readonly snapshotId: string | null;
  readonly failure: Failure | null;
}

/** The newest secrets, for a release that is about to be made. The app is locked. */
export async function takeSecrets(
  ctx: OrganizationCtx,
  place: { readonly appId: string; readonly environmentId: string; readonly serverId: string },
): Promise<CheckedSecrets> {
  const { snapshotId, problem } = await createSnapshot(ctx, place);
  if (problem !== null) return { snapshotId: null, failure: { code: 'secret.unresolved', message: problem } };
  return { snapshotId, failure: await checkSecrets(ctx, place.serverId, snapshotId) };
}

/** Null when there are none, or when the server has told the key that they are sealed to. */
export async function checkSecrets(
  ctx: OrganizationCtx,
  serverId: string,
  snapshotId: string | null,
): Promise<Failure | null> {
  if (snapshotId === null || (await canOpenSecrets(ctx, serverId))) return null;
  return { code: 'secret.server_cannot_open', message: null };
}
