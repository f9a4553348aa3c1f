// Reads what a benchmark measures: the release with its settings version, the agent and the machine.
import { parseId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import { hostInfoSchema } from '../server/schema.ts';
import type { BenchmarkFacts } from './schema.ts';

export interface FactsWhere {
  readonly serverId: string;
  readonly releaseId: string;
}

export async function readFacts(
  { tx, organizationId }: OrganizationCtx,
  { serverId, releaseId }: FactsWhere,
): Promise<BenchmarkFacts> {
  const release = await tx.release.findFirstOrThrow({
    where: { id: releaseId, organizationId },
    select: { number: true, commitHash: true, config: { select: { number: true } } },
  });
  const server = await tx.server.findFirstOrThrow({
    where: { id: serverId, organizationId },
    select: { agentVersion: true, hostInfo: true },
  });
  const { os, kernel, arch, cpuCount, memoryBytes } = hostInfoSchema.parse(server.hostInfo);
  return {
    release: { id: parseId('rel', releaseId), number: release.number, commitHash: release.commitHash },
    configNumber: release.config?.number ?? 0,
    agentVersion: server.agentVersion,
    machine: { os, kernel, arch, cpuCount, memoryBytes },
    endReleaseNumber: null,
  };
}

/** Returns the number of the release that is live on the server now; null if none is. */
export async function liveReleaseNumber(
  { tx, organizationId }: OrganizationCtx,
  where: { readonly appId: string; readonly environmentId: string; readonly serverId: string },
): Promise<number | null> {
  const { serverId, ...placement } = where;
  const row = await tx.placementServer.findFirst({
    where: { serverId, organizationId, placement },
    select: { liveRelease: { select: { number: true } } },
  });
  return row?.liveRelease?.number ?? null;
}
