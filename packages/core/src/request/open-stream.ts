// Bounds on live streams that are open at once, by person and by organization, for all processes together.
import type { OrganizationId } from '@fairlead/contract/ids';
import { AppError, type SystemCtx } from '../kernel/index.ts';

export interface StreamLimits {
  readonly personMax: number;
  readonly organizationMax: number;
}

export interface NewStream {
  readonly streamId: string;
  readonly userId: string;
  readonly organizationId: OrganizationId;
}

type StreamCtx = Pick<SystemCtx, 'tx'>;

/** Time after which a stream that its process did not renew no longer counts: that process is gone. */
export const streamSeenMs = 20_000;

/** Throws request.too_many when the person or the organization has as many open streams as it may. */
export async function openStream({ tx }: StreamCtx, stream: NewStream, limits: StreamLimits): Promise<void> {
  const { streamId, userId, organizationId } = stream;
  // Concurrent opens wait for each other, persons before organizations, so that no deadlock can occur.
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`open_stream ${userId}`}, 0))::text`;
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`open_stream ${organizationId}`}, 0))::text`;
  const [open] = await tx.$queryRaw<{ person: number; organization: number }[]>`
    SELECT count(*) FILTER (WHERE user_id = ${userId})::int AS person,
           count(*) FILTER (WHERE organization_id = ${organizationId})::int AS organization
    FROM open_stream
    WHERE (user_id = ${userId} OR organization_id = ${organizationId})
      AND seen_at > statement_timestamp() - make_interval(secs => ${streamSeenMs}::float8 / 1000)`;
  if (open === undefined || open.person >= limits.personMax || open.organization >= limits.organizationMax) {
    throw new AppError('request.too_many', { openStreamsMax: limits.personMax });
  }
  await tx.$executeRaw`
    INSERT INTO open_stream (id, user_id, organization_id, seen_at)
    VALUES (${streamId}, ${userId}, ${organizationId}, statement_timestamp())`;
}

/** Renews streams that are still open. */
export async function touchStreams({ tx }: StreamCtx, input: { streamIds: readonly string[] }): Promise<void> {
  await tx.$executeRaw`UPDATE open_stream SET seen_at = statement_timestamp() WHERE id = ANY(${[...input.streamIds]})`;
}

export async function closeStream({ tx }: StreamCtx, input: { streamId: string }): Promise<void> {
  await tx.$executeRaw`DELETE FROM open_stream WHERE id = ${input.streamId}`;
}
