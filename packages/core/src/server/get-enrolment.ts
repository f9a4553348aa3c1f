// Returns the state of an enrolment for the page that waits for the new server.
import { parseId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';
import { isConnected } from './rules.ts';
import type { EnrolmentView, GetEnrolmentInput } from './schema.ts';

/** Returns the progress of a new server; never its token. */
export async function getEnrolment(ctx: Ctx, input: GetEnrolmentInput): Promise<EnrolmentView> {
  const { organizationId } = ctx;
  const row = await ctx.tx.serverEnrolment.findFirst({ where: { id: input.enrolmentId, organizationId } });
  if (row === null) throw new AppError('enrolment.not_found', { enrolmentId: input.enrolmentId });
  const server =
    row.serverId === null
      ? null
      : await ctx.tx.server.findFirst({
          where: { id: row.serverId, organizationId },
          select: { id: true, connectedGateway: true, lastSeenAt: true },
        });
  return {
    enrolmentId: input.enrolmentId,
    name: row.name,
    expiresAt: row.expiresAt,
    usedAt: row.usedAt,
    serverId: server === null ? null : parseId('srv', server.id),
    serverConnected: server !== null && isConnected(server, ctx.clock.now()),
  };
}
