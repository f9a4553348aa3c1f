// Decides which organization's servers serve a host that several have.
// Invariant: a host is served only by the organization that has proven its nearest name, or else by the first to claim it.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { forOrganization, isPublicHost, notifyChange, type SystemCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';
import { nameAndParents, provenName } from './records.ts';
import type { HostConflict } from './schema.ts';
import { loadHosts } from './store.ts';

interface HostOfOrganization {
  readonly organizationId: string;
  readonly host: string;
}

export interface Proof {
  readonly organizationId: string;
  readonly host: string;
}

/** `claims` are those of the same host, the first one first. */
export function conflictOf(
  { organizationId, host }: HostOfOrganization,
  proofs: readonly Proof[],
  claims: readonly HostOfOrganization[],
): HostConflict | null {
  for (const name of nameAndParents(provenName(host))) {
    const proof = proofs.find((each) => each.host === name);
    if (proof !== undefined) return proof.organizationId === organizationId ? null : 'proven';
  }
  const first = claims.find((claim) => claim.host === host);
  return first === undefined || first.organizationId === organizationId ? null : 'claimed';
}

async function findConflicts(
  { tx }: SystemCtx,
  hosts: readonly HostOfOrganization[],
): Promise<readonly (HostConflict | null)[]> {
  const names = new Set(hosts.flatMap(({ host }) => nameAndParents(provenName(host))));
  const proofs = await tx.hostProof.findMany({
    where: { host: { in: [...names] }, provenAt: { not: null } },
    select: { organizationId: true, host: true },
  });
  const claims = await tx.domainHost.findMany({
    where: { host: { in: hosts.map(({ host }) => host) } },
    select: { organizationId: true, host: true },
    orderBy: [{ createdAt: 'asc' }, { organizationId: 'asc' }],
  });
  return hosts.map((host) => (isPublicHost(host.host) ? conflictOf(host, proofs, claims) : null));
}

/** Returns those of the organization's hosts that none of its servers may serve. */
export async function findUnservedHosts(
  ctx: SystemCtx,
  organizationId: OrganizationId,
  hosts: readonly string[],
): Promise<ReadonlySet<string>> {
  const names = [...new Set(hosts)];
  const conflicts = await findConflicts(
    ctx,
    names.map((host) => ({ organizationId, host })),
  );
  return new Set(names.filter((_, at) => conflicts[at] !== null));
}

/** Stores the conflicts of every organization's hosts at or below a name, and gives their servers a new state if one changed. */
export async function refreshConflicts(ctx: SystemCtx, name: string): Promise<void> {
  const rows = await ctx.tx.domainHost.findMany({
    where: { OR: [{ host: name }, { host: { endsWith: `.${name}` } }] },
    select: { organizationId: true, host: true, conflict: true },
    orderBy: [{ organizationId: 'asc' }, { host: 'asc' }],
  });
  const conflicts = await findConflicts(ctx, rows);
  const changed = rows.flatMap((row, at) => {
    const conflict = conflicts[at] ?? null;
    return conflict === row.conflict ? [] : [{ ...row, conflict }];
  });
  const serverIds = new Map<string, OrganizationId>();
  for (const { organizationId, host, conflict } of changed) {
    const scoped = forOrganization(ctx, parseId('org', organizationId));
    await ctx.tx.domainHost.updateMany({ where: { organizationId, host }, data: { conflict } });
    const found = (await loadHosts(scoped, [host])).get(host);
    for (const { id } of found?.servers ?? []) serverIds.set(id, scoped.organizationId);
    for (const appId of found?.appIds ?? []) await notifyChange(scoped, appChange(appId));
  }
  // In the order of ids, so that two callers never block each other.
  for (const [serverId, organizationId] of [...serverIds].sort(([a], [b]) => (a < b ? -1 : 1))) {
    await bumpServer(forOrganization(ctx, organizationId), serverId);
  }
}

export function appChange(appId: string) {
  const id = parseId('app', appId);
  return { kind: 'app' as const, id, appId: id };
}
