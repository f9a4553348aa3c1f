// Servers of a run: the app's server and the load servers. Refuses servers that can't take part.
import { BenchmarkRole } from '@fairlead/contract/agent';
import type { ServerId } from '@fairlead/contract/ids';
import { benchmarkPlan, missingBenchmarkCapability } from '../desired-state/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { isConnected } from '../server/index.ts';
import { distributionFaults } from './distribution.ts';
import type { BenchmarkPlan } from './schema.ts';

const partRoles = { measure: BenchmarkRole.MEASURE, load: BenchmarkRole.LOAD } as const;

export interface RunServersInput {
  readonly appId: string;
  readonly environmentId: string;
  /** Server of the app. */
  readonly serverId: ServerId;
  readonly liveReleaseId: string | null;
  readonly plan: BenchmarkPlan;
  readonly loadServerIds: readonly ServerId[];
  /** True for a run. A plan can be saved while a server is not connected. */
  readonly mustBeConnected: boolean;
}

export interface RequiredServer {
  readonly id: string;
  readonly name: string;
  readonly role: 'measure' | 'load';
}

/**
 * Returns the app's server, then the load servers. Throws benchmark.not_distributable, benchmark.load_server_own,
 * server.not_found for a server of another organization, server.not_connected and benchmark.unsupported.
 */
export async function requireRunServers(
  { tx, organizationId, clock }: Ctx,
  { appId, environmentId, serverId, liveReleaseId, plan, loadServerIds, mustBeConnected }: RunServersInput,
): Promise<RequiredServer[]> {
  requireDistributable(plan, loadServerIds);
  if (loadServerIds.includes(serverId)) throw new AppError('benchmark.load_server_own', { serverId });
  const nothing = { addresses: [], caPem: '', checkName: '', checkAnswer: new Uint8Array(), row: 0, startUnixUs: 0n };
  const servers: RequiredServer[] = [];
  for (const id of [serverId, ...loadServerIds]) {
    const role = id === serverId ? 'measure' : 'load';
    const server = await tx.server.findFirst({
      where: { id, organizationId },
      select: { id: true, name: true, connectedGateway: true, lastSeenAt: true, capabilities: true },
    });
    if (server === null) throw new AppError('server.not_found', { serverId: id });
    if (mustBeConnected && !isConnected(server, clock.now())) {
      throw new AppError('server.not_connected', { serverId: id });
    }
    const message = benchmarkPlan({
      ...{ runId: '', appId, environmentId, plan: { ...plan, host: plan.host ?? '' }, liveReleaseId },
      ...(loadServerIds.length === 0 ? {} : { part: { ...nothing, role: partRoles[role] } }),
    });
    const missing = missingBenchmarkCapability(message, server.capabilities);
    if (missing !== null) throw new AppError('benchmark.unsupported', { serverId: id, capability: missing });
    servers.push({ id, name: server.name, role });
  }
  return servers;
}

/** Throws benchmark.not_distributable. */
export function requireDistributable(plan: BenchmarkPlan, loadServerIds: readonly string[]): void {
  const [fault] = distributionFaults(plan, loadServerIds.length);
  if (fault !== undefined) throw new AppError('benchmark.not_distributable', { field: fault.field });
}
