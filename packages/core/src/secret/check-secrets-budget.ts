// Checks the size budget of all secrets on one server: they travel in one message, which the agent bounds.
import type { OrganizationCtx } from '../kernel/index.ts';
import type { SnapshotPlacement } from './create-snapshot.ts';
import { serverSecretsBytesMax } from './rules.ts';

/** A whole sentence when what the server is given would become too much with a snapshot of `bytes`; null when there is room. */
export async function checkSecretsBudget(
  ctx: OrganizationCtx,
  { appId, environmentId }: SnapshotPlacement,
  snapshot: { readonly id: string | null; readonly bytes: number },
): Promise<string | null> {
  const { organizationId } = ctx;
  // Live and pending releases: both are in the server's state at once.
  const [row] = await ctx.tx.$queryRaw<{ name: string; bytes: bigint }[]>`
    SELECT server.name, (
      SELECT COALESCE(sum(size_bytes), 0)::bigint FROM secret_snapshot
      WHERE organization_id = ${organizationId} AND id IS DISTINCT FROM ${snapshot.id} AND id IN (
        SELECT release.secret_snapshot_id FROM placement_server JOIN release ON release.id = placement_server.live_release_id
        WHERE placement_server.server_id = server.id
        UNION
        SELECT release.secret_snapshot_id FROM deployment
        JOIN placement ON placement.app_id = deployment.app_id AND placement.environment_id = deployment.environment_id
        JOIN placement_server ON placement_server.placement_id = placement.id
        JOIN release ON release.id = deployment.release_id
        WHERE placement_server.server_id = server.id AND deployment.state IN ('building', 'releasing', 'rolling_out'))
    ) AS bytes
    FROM server
    JOIN placement_server AS own ON own.server_id = server.id
    JOIN placement AS target ON target.id = own.placement_id
    WHERE server.organization_id = ${organizationId} AND target.app_id = ${appId}
      AND target.environment_id = ${environmentId}
    ORDER BY bytes DESC LIMIT 1`;
  if (row === undefined || Number(row.bytes) + snapshot.bytes <= serverSecretsBytesMax) return null;
  const most = `${serverSecretsBytesMax / 1024 / 1024} MiB`;
  return `The secrets of all apps on the server ${row.name} together would be larger than ${most}. Make some smaller, or run an app elsewhere.`;
}
