// Requests snapshots that are due by the settings of apps, and deletes old ones. Safe to run twice.
import { errorTable } from '@fairlead/contract/errors';
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';
import { bumpServer, isConnected } from '../server/index.ts';
import { addSnapshot, ensureVolumes } from './snapshots.ts';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
/** Kept snapshots of each volume on each server. */
const snapshotsKept = 3;
const stuckMs = 6 * hourMs;
/** Time for which the copies of a move are kept after its end. */
const moveCopiesMs = dayMs;
/** Failures, and snapshots of servers that the app has left. */
const oldMs = 7 * dayMs;
/** Maximum number of requests in one run; the next run continues. */
const portion = 50;

interface DueVolume {
  readonly organizationId: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly name: string;
  readonly serverId: string;
  readonly connectedGateway: string | null;
  readonly lastSeenAt: Date | null;
}

/** Requests snapshots on every server where the app is live. An offline server gets its request when it is back. System scope. */
export async function planSnapshots(ctx: SystemCtx): Promise<number> {
  const now = ctx.clock.now();
  let requested = 0;
  for (const due of await findDue(ctx)) {
    if (!isConnected(due, now)) continue;
    const scoped = forOrganization(ctx, parseId('org', due.organizationId));
    const { appId, serverId } = due;
    const volume = (await ensureVolumes(scoped, due)).find(({ name }) => name === due.name);
    if (volume === undefined) continue;
    await addSnapshot(scoped, { volume, serverId, reason: 'schedule' });
    await bumpServer(scoped, serverId);
    await notifyChange(scoped, { kind: 'app', id: appId, appId });
    requested += 1;
  }
  return requested;
}

/** After a failure the next attempt comes within an hour. Volumes of apps that are deleted or moving wait. */
function findDue({ tx, clock }: SystemCtx): Promise<DueVolume[]> {
  const now = clock.now().getTime();
  const [hourAgo, dayAgo] = [new Date(now - hourMs), new Date(now - dayMs)];
  return tx.$queryRaw<DueVolume[]>`
    SELECT config.organization_id AS "organizationId", config.app_id AS "appId", config.environment_id AS "environmentId",
           mount->>'name' AS name, server.id AS "serverId", server.connected_gateway AS "connectedGateway", server.last_seen_at AS "lastSeenAt"
    FROM app_config AS config
    CROSS JOIN jsonb_array_elements(coalesce(config.settings->'volumes', '[]'::jsonb)) AS mount
    JOIN placement ON placement.app_id = config.app_id AND placement.environment_id = config.environment_id
    JOIN placement_server ON placement_server.placement_id = placement.id
    JOIN release ON release.id = placement_server.live_release_id
    JOIN app_config AS live ON live.id = release.config_id
      AND live.settings->'volumes' @> jsonb_build_array(jsonb_build_object('name', mount->'name'))
    JOIN server ON server.id = placement_server.server_id AND server.connected_gateway IS NOT NULL
      AND 'volume.snapshot' = ANY(server.capabilities)
    WHERE mount->>'snapshots' IN ('hourly', 'daily')
      AND NOT EXISTS (SELECT 1 FROM app_config AS newer
                      WHERE newer.app_id = config.app_id AND newer.environment_id = config.environment_id
                        AND newer.number > config.number)
      AND NOT EXISTS (SELECT 1 FROM app_deletion WHERE app_deletion.app_id = config.app_id)
      AND NOT EXISTS (SELECT 1 FROM volume_move WHERE volume_move.app_id = config.app_id
                        AND volume_move.environment_id = config.environment_id
                        AND volume_move.state IN ('copying', 'restoring', 'deploying'))
      AND NOT EXISTS (
        SELECT 1 FROM volume_snapshot AS snapshot JOIN volume ON volume.id = snapshot.volume_id
        WHERE volume.app_id = config.app_id AND volume.environment_id = config.environment_id
          AND volume.name = mount->>'name' AND snapshot.server_id = server.id AND snapshot.move_id IS NULL
          AND (snapshot.state = 'running'
            OR snapshot.created_at > CASE WHEN mount->>'snapshots' = 'hourly' OR snapshot.state = 'failed'
                                     THEN ${hourAgo}::timestamptz ELSE ${dayAgo}::timestamptz END))
    ORDER BY config.app_id, config.environment_id, server.id, name LIMIT ${portion}`;
}

/** Fails snapshots that their server does not finish. Those of a move have its deadline. System scope. */
export async function failStuckSnapshots({ tx, clock }: SystemCtx): Promise<number> {
  const now = clock.now();
  const { count } = await tx.volumeSnapshot.updateMany({
    where: { state: 'running', moveId: null, createdAt: { lt: new Date(now.getTime() - stuckMs) } },
    data: { state: 'failed', finishedAt: now, failureMessage: errorTable['snapshot.stuck'].message },
  });
  return count;
}

/** The pruning of artifacts deletes the bytes later. Snapshots that a move restores stay until it has ended. System scope. */
export async function pruneSnapshots({ tx, clock }: SystemCtx): Promise<number> {
  const now = clock.now().getTime();
  return tx.$executeRaw`
    DELETE FROM volume_snapshot WHERE id IN (
      SELECT snapshot.id FROM (
        SELECT *, row_number() OVER (PARTITION BY volume_id, server_id, state, move_id IS NULL
                                     ORDER BY created_at DESC) AS rank FROM volume_snapshot
      ) AS snapshot
      WHERE snapshot.state <> 'running'
        AND NOT EXISTS (SELECT 1 FROM volume_restore JOIN volume_move ON volume_move.id = volume_restore.move_id
                        WHERE volume_restore.snapshot_id = snapshot.id
                          AND volume_move.state IN ('copying', 'restoring', 'deploying'))
        AND CASE
          WHEN snapshot.move_id IS NOT NULL THEN EXISTS (
            SELECT 1 FROM volume_move WHERE volume_move.id = snapshot.move_id
              AND volume_move.finished_at < ${new Date(now - moveCopiesMs)})
          WHEN snapshot.state = 'failed' THEN snapshot.created_at < ${new Date(now - oldMs)}
          ELSE snapshot.rank > ${snapshotsKept} OR (
            snapshot.created_at < ${new Date(now - oldMs)} AND NOT EXISTS (
              SELECT 1 FROM placement_server JOIN placement ON placement.id = placement_server.placement_id
              WHERE placement.app_id = snapshot.app_id AND placement.environment_id = snapshot.environment_id
                AND placement_server.server_id = snapshot.server_id))
        END)`;
}
