// Checks of hosts: takes those that are due, and records what the DNS said. Safe in several workers.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import {
  canonicalAddress,
  forOrganization,
  isPublicHost,
  notifyChange,
  reservedSince,
  type SystemCtx,
} from '../kernel/index.ts';
import { checkPauseMs, classifyHost } from './classify-host.ts';
import { appChange, refreshConflicts } from './conflicts.ts';
import { type PortCheck, portCheckOf } from './port-check.ts';
import { lockZones } from './proofs.ts';
import { proofRecordName, provenName } from './records.ts';
import { type Findings, hostStateSchema } from './schema.ts';
import { loadHosts, readFindings } from './store.ts';
import { demandPauseMs } from './verify-host.ts';

/** Time after which another worker repeats the check of one that died. */
const leaseMs = 2 * 60_000;
const dueMax = 100;
const conflictPauseMs = 60_000;

export interface DueHost {
  readonly organizationId: OrganizationId;
  readonly host: string;
  /** Name of the TXT record that proves it. */
  readonly proofName: string;
  /** Addresses of servers that can answer a port check, and don't share one with the control plane. */
  readonly remoteAddresses: readonly string[];
  readonly portCheck: PortCheck;
}

/** Returns hosts whose check is due, the longest overdue first, and keeps other workers from them until then. */
export async function claimDueHosts(ctx: SystemCtx): Promise<readonly DueHost[]> {
  const now = ctx.clock.now();
  const rows = await ctx.tx.$queryRaw<{ organizationId: string; host: string }[]>`
    UPDATE domain_host SET next_check_at = ${new Date(now.getTime() + leaseMs)}
    FROM (
      SELECT organization_id, host FROM domain_host WHERE next_check_at <= ${now}
      ORDER BY next_check_at LIMIT ${dueMax} FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE domain_host.organization_id = due.organization_id AND domain_host.host = due.host
    RETURNING domain_host.organization_id AS "organizationId", domain_host.host`;
  const due: DueHost[] = [];
  for (const [id, own] of Map.groupBy(rows, ({ organizationId }) => organizationId)) {
    const organizationId = parseId('org', id);
    const names = own.map(({ host }) => host).filter(isPublicHost);
    const hosts = await loadHosts(forOrganization(ctx, organizationId), names);
    const { portCheckToken } = await ctx.tx.organization.findUniqueOrThrow({
      where: { id: organizationId },
      select: { portCheckToken: true },
    });
    const portCheck = portCheckOf(portCheckToken);
    for (const [host, { servers }] of hosts) {
      const remote = servers.filter(({ isLocal, answersPortCheck }) => !isLocal && answersPortCheck);
      const remoteAddresses = remote.flatMap(({ addresses }) => addresses);
      due.push({ organizationId, host, proofName: proofRecordName(host), remoteAddresses, portCheck });
    }
  }
  return due;
}

/** Deletes claims of hosts without a domain. A proof stays until it is released. */
export async function pruneHosts(ctx: SystemCtx): Promise<void> {
  const isLost = Prisma.sql`NOT EXISTS (
    SELECT FROM domain WHERE domain.organization_id = domain_host.organization_id AND domain.host = domain_host.host)
    AND NOT EXISTS (SELECT FROM dashboard_domain AS own
      WHERE own.organization_id = domain_host.organization_id AND own.host = domain_host.host)
    AND NOT EXISTS (SELECT FROM removed_dashboard_domain AS removed
      WHERE removed.organization_id = domain_host.organization_id AND removed.host = domain_host.host
        AND removed.removed_at > ${reservedSince(ctx)})`;
  const rows = await ctx.tx.$queryRaw<{ host: string }[]>`SELECT DISTINCT host FROM domain_host WHERE ${isLost}`;
  if (rows.length === 0) return;
  const lost = rows.map(({ host }) => host);
  await lockZones(ctx, lost);
  await ctx.tx.$executeRaw`DELETE FROM domain_host WHERE host = ANY(${lost}) AND ${isLost}`;
  for (const host of lost) await refreshConflicts(ctx, host);
  await ctx.tx.$executeRaw`
    DELETE FROM host_proof WHERE proven_at IS NULL AND NOT EXISTS (
      SELECT FROM domain_host WHERE domain_host.organization_id = host_proof.organization_id
        AND domain_host.host IN (host_proof.host, '*.' || host_proof.host)
    )`;
}

export interface HostCheck {
  readonly organizationId: OrganizationId;
  readonly host: string;
  readonly findings: Findings;
  /** Values of the TXT records at the name of the proof; null if the servers did not answer. */
  readonly texts: readonly string[] | null;
}

export interface HostNews {
  /** This check made the host ready. */
  readonly becameReady: boolean;
  /** The alias of `_acme-challenge` changed. */
  readonly aliasChanged: boolean;
}

export async function recordHostCheck(ctx: SystemCtx, check: HostCheck): Promise<HostNews> {
  const { organizationId, host, texts } = check;
  const scoped = forOrganization(ctx, organizationId);
  const where = { organizationId_host: { organizationId, host } };
  // If the records of two organizations are visible at once, the first transaction gets the name.
  await lockZones(ctx, [host]);
  const before = await ctx.tx.domainHost.findUnique({ where });
  const found = (await loadHosts(scoped, [host])).get(host);
  if (before === null || found === undefined) return { becameReady: false, aliasChanged: false };
  const now = ctx.clock.now();
  const findings = { ...check.findings, addresses: canonical(check.findings.addresses) };
  const { state } = classifyHost(findings, found.servers);
  const stateSince = before.state === state ? before.stateSince : now;
  const pauseMs = checkPauseMs(state, now.getTime() - stateSince.getTime());
  // Its owner may be about to prove it.
  const pausedUntil = now.getTime() + (before.conflict === null ? pauseMs : Math.min(pauseMs, conflictPauseMs));
  // A check that was demanded during this one is still due: the claim had moved it further away.
  const isDemanded = before.nextCheckAt.getTime() <= now.getTime() + demandPauseMs;
  const nextCheckAt = isDemanded ? before.nextCheckAt : new Date(pausedUntil);
  await ctx.tx.domainHost.update({ where, data: { state, stateSince, findings, checkedAt: now, nextCheckAt } });
  const isNewlyProven = texts !== null && (await recordProof(ctx, { organizationId, host, texts }));
  await refreshConflicts(ctx, isNewlyProven ? provenName(host) : host);
  const known = readFindings(before.findings);
  const isNews = JSON.stringify(known) !== JSON.stringify(findings) || before.state !== state;
  if (isNews || isNewlyProven) for (const appId of found.appIds) await notifyChange(scoped, appChange(appId));
  return {
    becameReady: state === 'ready' && hostStateSchema.safeParse(before.state).data !== 'ready',
    aliasChanged: findings.failure === null && findings.challengeAlias !== (known?.challengeAlias ?? null),
  };
}

/** Records the proof if its record is there and no other organization has proven the name. */
async function recordProof(
  ctx: SystemCtx,
  { organizationId, host, texts }: { organizationId: OrganizationId; host: string; texts: readonly string[] },
): Promise<boolean> {
  const { tx, clock } = ctx;
  const name = provenName(host);
  const proof = await tx.hostProof.findUnique({ where: { organizationId_host: { organizationId, host: name } } });
  if (proof === null || proof.provenAt !== null || !texts.includes(proof.token)) return false;
  const owners = await tx.hostProof.count({ where: { host: name, provenAt: { not: null } } });
  if (owners > 0) return false;
  await tx.hostProof.update({ where: { id: proof.id, organizationId }, data: { provenAt: clock.now() } });
  return true;
}

function canonical(addresses: readonly string[]): string[] {
  return [...new Set(addresses.flatMap((address) => canonicalAddress(address) ?? []))];
}
