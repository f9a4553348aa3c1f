// Query of everything that needs attention, one SELECT for each kind. Lists, counts and acknowledgements use the same
// rows, so that they always agree.
import { Prisma } from '@fairlead/db';
import { copiesOnServer } from '../app/index.ts';
import { entriesSql } from '../certificate/index.ts';
import type { BuildSlots } from '../deployment/index.ts';
import { actorUserId, type Ctx } from '../kernel/index.ts';
import { isReached, type Reach } from '../role/index.ts';
import { expiringSecretsSql } from '../secret/index.ts';
import { isConnectedSql } from '../server/index.ts';
import type { AttentionKind } from './schema.ts';

/** Longest time in which a deployment with nothing in front of it should begin. */
const queuedMaxMs = 15 * 60_000;
const clockOffsetMaxMs = 2000;

/** Reach of the reader for each kind of row. */
export interface AttentionReach {
  readonly apps: Reach;
  readonly deployments: Reach;
  /** Deployments that the reader may approve. */
  readonly approvals: Reach;
  readonly secrets: Reach;
  readonly domains: Reach;
  /** Servers are the organization's: seen all or none. */
  readonly servers: boolean;
}

export interface AttentionScope {
  readonly reach: AttentionReach;
  readonly buildSlots: BuildSlots;
}

interface Parts extends AttentionScope {
  readonly ctx: Ctx;
  readonly now: Date;
}

const environmentColumns = { projectId: Prisma.sql`environment.project_id`, environmentId: Prisma.sql`environment.id` };

/**
 * Returns rows of kind, cause, subject, target, version, rank and facts. `target` is the id in the list that the group
 * links to, `version` changes when an acknowledged entry has to show again, and the lowest `rank` comes first.
 */
export function itemsSql(ctx: Ctx, scope: AttentionScope, kinds: readonly AttentionKind[]): Prisma.Sql {
  const parts = { ...scope, ctx, now: ctx.clock.now() };
  const all = Prisma.join(
    kinds.map((kind) => selects[kind](parts)),
    ' UNION ALL ',
  );
  return Prisma.sql`SELECT * FROM (${all}) AS row (kind, cause, subject, target, version, rank, facts)`;
}

const selects: Readonly<Record<AttentionKind, (parts: Parts) => Prisma.Sql>> = {
  server_offline: (parts) => Prisma.sql`
    SELECT 'server_offline', '', server.id, server.id, coalesce(server.last_seen_at::text, ''),
           -extract(epoch FROM coalesce(server.last_seen_at, server.created_at))::float8,
           jsonb_build_object('name', server.name, 'at', server.last_seen_at)
    FROM server
    WHERE ${ofServers(parts)} AND NOT ${isConnectedSql(parts.now)}
      AND (server.last_seen_at IS NOT NULL
        OR EXISTS (SELECT 1 FROM placement_server WHERE placement_server.server_id = server.id))`,

  app_unhealthy: ({ ctx, reach }) => Prisma.sql`
    SELECT 'app_unhealthy', '', app.id, app.id,
           string_agg(concat_ws(':', environment.id, placed.working, placed.wanted), ' ' ORDER BY environment.id),
           min(placed.working::float8 / placed.wanted),
           jsonb_build_object('name', app.name, 'slug', app.slug, 'working', sum(placed.working), 'wanted', sum(placed.wanted),
             'environmentId', (array_agg(environment.id ORDER BY environment.name))[1],
             'environmentNames', string_agg(environment.name, ', ' ORDER BY environment.name))
    FROM (
      SELECT placement.app_id, placement.environment_id, sum(least(copies.working, copies.wanted))::int AS working,
             sum(copies.wanted)::int AS wanted
      FROM placement
      JOIN placement_server ON placement_server.placement_id = placement.id
      JOIN server ON server.id = placement_server.server_id
      CROSS JOIN ${copiesOnServer}
      WHERE placement.organization_id = ${ctx.organizationId} AND placement_server.live_release_id IS NOT NULL
        AND server.connected_gateway IS NOT NULL AND server.applied_epoch = server.desired_epoch
        AND server.applied_number = server.desired_number
      GROUP BY placement.id
      HAVING bool_or(copies.working < copies.wanted)
    ) AS placed
    JOIN app ON app.id = placed.app_id
    JOIN environment ON environment.id = placed.environment_id AND environment.kind = 'standard'
    WHERE ${isReached(reach.apps, environmentColumns)}
    GROUP BY app.id`,

  approval: ({ ctx, reach }) => {
    const userId = actorUserId(ctx.actor);
    return Prisma.sql`
    SELECT 'approval', '', deployment.id, deployment.id, '', extract(epoch FROM approval.created_at)::float8,
           jsonb_build_object('name', app.name, 'slug', app.slug, 'number', deployment.number, 'ref', deployment.ref,
             'environmentName', environment.name, 'commitHash', deployment.commit_hash,
             'commitSubject', deployment.commit_subject, 'commitAuthor', deployment.commit_author,
             'requester', requester.name, 'at', approval.created_at)
    FROM deployment_approval AS approval
    JOIN deployment ON deployment.id = approval.deployment_id AND deployment.state = 'queued'
    JOIN app ON app.id = deployment.app_id
    JOIN environment ON environment.id = deployment.environment_id
    LEFT JOIN "user" AS requester ON requester.id = approval.requested_by_user_id
    WHERE approval.organization_id = ${ctx.organizationId} AND approval.state = 'pending'
      AND ${ctx.actor.kind === 'member'} AND approval.requested_by_user_id IS DISTINCT FROM ${userId}
      AND deployment.actor_user_id IS DISTINCT FROM ${userId}
      AND ${isReached(reach.approvals, environmentColumns)}`;
  },

  // A later success or cancel settles a failure.
  deployment_failed: ({ ctx, reach }) => Prisma.sql`
    SELECT 'deployment_failed', coalesce(last.failure_code, ''), placement.id, last.id, last.id,
           -extract(epoch FROM last.queued_at)::float8,
           jsonb_build_object('name', app.name, 'slug', app.slug, 'number', last.number, 'environmentId', environment.id,
             'environmentName', environment.name, 'message', left(last.failure_message, 600),
             'at', coalesce(last.finished_at, last.queued_at))
    FROM placement
    JOIN app ON app.id = placement.app_id
    JOIN environment ON environment.id = placement.environment_id AND environment.kind = 'standard'
    CROSS JOIN LATERAL (
      SELECT * FROM deployment
      WHERE deployment.app_id = placement.app_id AND deployment.environment_id = placement.environment_id
      ORDER BY deployment.queued_at DESC, deployment.id DESC LIMIT 1
    ) AS last
    WHERE placement.organization_id = ${ctx.organizationId} AND last.state = 'failed'
      AND EXISTS (SELECT 1 FROM placement_server WHERE placement_server.placement_id = placement.id)
      AND ${isReached(reach.deployments, environmentColumns)}`,

  deployment_stuck: ({ ctx, reach, buildSlots, now }) => Prisma.sql`
    SELECT 'deployment_stuck', '', deployment.id, deployment.id, deployment.state,
           extract(epoch FROM deployment.queued_at)::float8,
           jsonb_build_object('name', app.name, 'slug', app.slug, 'number', deployment.number, 'state', deployment.state,
             'environmentName', environment.name, 'at', deployment.queued_at)
    FROM deployment
    JOIN app ON app.id = deployment.app_id
    JOIN environment ON environment.id = deployment.environment_id AND environment.kind = 'standard'
    WHERE deployment.organization_id = ${ctx.organizationId} AND ${isReached(reach.deployments, environmentColumns)}
      AND (deployment.state = 'building' AND deployment.deadline_at < ${now}
        OR deployment.state = 'queued' AND deployment.queued_at < ${new Date(now.getTime() - queuedMaxMs)}
          AND NOT ${isHeldBackSql(ctx, buildSlots)})`,

  disk_short: (parts) => Prisma.sql`
    SELECT 'disk_short', '', server.id, server.id,
           (floor((server.disk ->> 'freeBytes')::float8 * 20 / greatest((server.disk ->> 'totalBytes')::float8, 1)))::text,
           (server.disk ->> 'freeBytes')::float8,
           jsonb_build_object('name', server.name, 'message', server.disk ->> 'warning')
    FROM server WHERE ${ofServers(parts)} AND coalesce(server.disk ->> 'warning', '') <> ''`,

  certificate: ({ ctx, reach }) => Prisma.sql`
    SELECT 'certificate', '', entry.id, entry.id,
           concat_ws(' ', entry.state, ordered.failure_code, coalesce(ordered.not_after, uploaded.not_after)),
           coalesce(extract(epoch FROM coalesce(ordered.not_after, uploaded.not_after)), 0)::float8,
           jsonb_build_object('source', entry.source, 'state', entry.state, 'host', coalesce(ordered.host, uploaded.names[1]),
             'notAfter', coalesce(ordered.not_after, uploaded.not_after), 'message', ordered.failure_message)
    FROM (${entriesSql(ctx, reach.domains)}) AS entry
    LEFT JOIN certificate AS ordered ON ordered.id = entry.id
    LEFT JOIN uploaded_certificate AS uploaded ON uploaded.id = entry.id
    WHERE entry.attention`,

  server_refused: (parts) => Prisma.sql`
    SELECT 'server_refused', '', server.id, server.id, md5(server.refused_reason), 0::float8,
           jsonb_build_object('name', server.name, 'message', server.refused_reason)
    FROM server WHERE ${ofServers(parts)} AND server.refused_reason IS NOT NULL`,

  // The version changes when the offset doubles: each report has another one.
  clock_offset: (parts) => Prisma.sql`
    SELECT 'clock_offset', '', server.id, server.id,
           (sign(server.clock_offset_ms) * floor(log(2, abs(server.clock_offset_ms))))::text, -abs(server.clock_offset_ms)::float8,
           jsonb_build_object('name', server.name, 'offsetMs', server.clock_offset_ms)
    FROM server
    WHERE ${ofServers(parts)} AND abs(server.clock_offset_ms) > ${clockOffsetMaxMs} AND ${isConnectedSql(parts.now)}`,

  secret_expiring: ({ ctx, reach, now }) => Prisma.sql`
    SELECT 'secret_expiring', '', expiring.id, expiring.id,
           concat_ws(' ', expiring.expires_at, expiring.expires_at <= ${now}), extract(epoch FROM expiring.expires_at)::float8,
           jsonb_build_object('name', expiring.name, 'ownerName', expiring.owner_name, 'slug', expiring.app_slug,
             'environmentId', expiring.environment_id, 'expiresAt', expiring.expires_at)
    FROM (${expiringSecretsSql(ctx, reach.secrets)}) AS expiring`,
};

function ofServers({ ctx, reach }: Parts): Prisma.Sql {
  return Prisma.sql`server.organization_id = ${ctx.organizationId} AND ${reach.servers}`;
}

/** True for a queued deployment with an approval, a check, another deployment or busy build slots in front of it. */
function isHeldBackSql({ organizationId }: Ctx, { perServer, perOrganization }: BuildSlots): Prisma.Sql {
  return Prisma.sql`(
    EXISTS (SELECT 1 FROM deployment_approval AS approval
            WHERE approval.deployment_id = deployment.id AND approval.state = 'pending')
    OR EXISTS (SELECT 1 FROM deployment_check_wait AS checks
               WHERE checks.deployment_id = deployment.id AND checks.due_at IS NOT NULL)
    OR EXISTS (SELECT 1 FROM deployment AS ahead
               WHERE ahead.app_id = deployment.app_id AND ahead.environment_id = deployment.environment_id
                 AND ahead.state IN ('building', 'releasing', 'rolling_out'))
    OR deployment.release_id IS NULL AND (
      (SELECT count(*) FROM deployment AS builds
       WHERE builds.organization_id = ${organizationId} AND builds.state = 'building') >= ${perOrganization}
      OR (SELECT count(*) FROM deployment AS builds
          WHERE builds.organization_id = ${organizationId} AND builds.state = 'building' AND builds.build_server_id = (
            SELECT placement_server.server_id FROM placement
            JOIN placement_server ON placement_server.placement_id = placement.id
            WHERE placement.app_id = deployment.app_id AND placement.environment_id = deployment.environment_id
            ORDER BY placement_server.position LIMIT 1)) >= ${perServer}))`;
}
