// Version of a server's desired state. It only grows.
import { parseId } from '@fairlead/contract/ids';
import { type DesiredNotice, desiredChannel } from '@fairlead/contract/notify';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';

/**
 * Gives a server's desired state a new version. Call it in the transaction that changed the desired state: the notice
 * fires at the commit, so the renderer sees the change.
 */
export async function bumpServer(ctx: OrganizationCtx, serverId: string): Promise<bigint> {
  const [version] = await ctx.tx.$queryRaw<{ epoch: number; number: bigint }[]>`
    UPDATE server SET desired_number = desired_number + 1
    WHERE id = ${serverId} AND organization_id = ${ctx.organizationId}
    RETURNING desired_epoch AS "epoch", desired_number AS "number"`;
  if (version === undefined) throw new AppError('server.not_found', { serverId });
  const notice: DesiredNotice = {
    serverId: parseId('srv', serverId),
    epoch: version.epoch,
    number: Number(version.number),
  };
  await ctx.tx.$executeRaw`SELECT pg_notify(${desiredChannel}, ${JSON.stringify(notice)})`;
  return version.number;
}
