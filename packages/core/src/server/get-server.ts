// Returns the data of a server's page.
import { parseId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';
import { proxySettingsSchema } from '../traffic/index.ts';
import { readLocalCa } from './agent-host.ts';
import { type AgentOffer, diskSchema, type GetServerInput, type ServerDetail, serverNetworkSchema } from './schema.ts';
import { addressesView, loadServers } from './store.ts';

interface AppRow {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly environmentId: string;
  readonly environmentName: string;
}

export interface ServerFacts {
  readonly offers?: readonly AgentOffer[];
  /** Port at which the local server's proxy serves HTTPS. */
  readonly localHttpsPort?: number;
}

const httpsPort = 443;

export async function getServer(
  ctx: Ctx,
  input: GetServerInput,
  { offers = [], localHttpsPort = httpsPort }: ServerFacts = {},
): Promise<ServerDetail> {
  const { organizationId } = ctx;
  const [summary] = await loadServers(ctx, offers, { id: input.serverId });
  const row = await ctx.tx.server.findFirst({
    where: { id: input.serverId, organizationId },
    select: {
      disk: true,
      hostInfo: true,
      network: true,
      proxy: true,
      interfaceAddresses: true,
      connectionAddress: true,
      enteredAddresses: true,
      desiredEpoch: true,
      desiredNumber: true,
      appliedEpoch: true,
      appliedNumber: true,
    },
  });
  const apps = await ctx.tx.$queryRaw<AppRow[]>`
    SELECT app.id, app.name, app.slug, environment.id AS "environmentId", environment.name AS "environmentName"
    FROM placement_server
    JOIN placement ON placement.id = placement_server.placement_id
    JOIN app ON app.id = placement.app_id
    JOIN environment ON environment.id = placement.environment_id
    WHERE placement_server.server_id = ${input.serverId} AND placement_server.organization_id = ${organizationId}
    ORDER BY app.name, app.id`;
  if (summary === undefined || row === null) throw new AppError('server.not_found', { serverId: input.serverId });
  const localCa = readLocalCa(String((row.hostInfo as { localCaPem?: unknown } | null)?.localCaPem ?? ''));
  return {
    ...summary,
    localCa: localCa && { ...localCa, httpsPort: summary.isLocal ? localHttpsPort : httpsPort },
    disk: diskSchema.safeParse(row.disk).data ?? null,
    network: serverNetworkSchema.safeParse(row.network).data ?? null,
    proxy: proxySettingsSchema.parse(row.proxy),
    addresses: addressesView(row),
    desiredVersion: `${row.desiredEpoch}.${row.desiredNumber}`,
    appliedVersion: `${row.appliedEpoch}.${row.appliedNumber}`,
    apps: apps.map((app) => ({
      ...app,
      id: parseId('app', app.id),
      environmentId: parseId('env', app.environmentId),
    })),
  };
}
