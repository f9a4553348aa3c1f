import { parseId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { GetServerInput, ServerDetail } from './schema.ts';
import { loadServers } from './store.ts';

export async function getServer(ctx: Ctx, input: GetServerInput): Promise<ServerDetail> {
  const { organizationId } = ctx;
  const [summary] = await loadServers(ctx, { id: input.serverId });
  const row = await ctx.tx.server.findFirst({
    where: { id: input.serverId, organizationId },
    select: {
      capabilities: true,
      desiredEpoch: true,
      desiredNumber: true,
      appliedEpoch: true,
      appliedNumber: true,
      placements: {
        select: { app: { select: { id: true, name: true, slug: true } }, environment: { select: { name: true } } },
        orderBy: { app: { name: 'asc' } },
      },
    },
  });
  if (summary === undefined || row === null) throw new AppError('server.not_found', { serverId: input.serverId });
  return {
    ...summary,
    capabilities: row.capabilities,
    desiredVersion: `${row.desiredEpoch}.${row.desiredNumber}`,
    appliedVersion: `${row.appliedEpoch}.${row.appliedNumber}`,
    apps: row.placements.map(({ app, environment }) => ({
      id: parseId('app', app.id),
      name: app.name,
      slug: app.slug,
      environmentName: environment.name,
    })),
  };
}
