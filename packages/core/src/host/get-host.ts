// Returns the DNS records that a domain's host needs, and the state of its last check.
import { AppError, type Ctx, isPublicHost, type OrganizationCtx } from '../kernel/index.ts';
import { classifyHost } from './classify-host.ts';
import { addressRecords, aliasRecord, nameAndParents, proofRecord, provenName, zoneOf } from './records.ts';
import { type HostRef, type HostState, type HostView, hostConflictSchema } from './schema.ts';
import { loadHosts, readFindings } from './store.ts';

const domainColumns = { host: true, appId: true, environmentId: true };

/** States of a name whose records lead to all of its servers. */
const leadsToServers: readonly HostState[] = ['ready', 'caa_blocks', 'port_closed', 'port_taken'];

/** Returns the name of the same app below the base domain of its server, if its records are right. */
async function findAliasTarget(
  { tx, organizationId }: OrganizationCtx,
  { host, appId, environmentId }: { readonly host: string; readonly appId: string; readonly environmentId: string },
): Promise<string | null> {
  const automatic = await tx.domain.findFirst({
    where: { organizationId, appId, environmentId, automatic: true, host: { not: host } },
    select: { host: true },
  });
  if (automatic === null) return null;
  const isRight = await tx.domainHost.count({
    where: { organizationId, host: automatic.host, state: { in: [...leadsToServers] } },
  });
  return isRight > 0 ? automatic.host : null;
}

/** Null for a name of each machine itself. */
export async function getHost(ctx: Ctx, { domainId }: HostRef): Promise<HostView | null> {
  const { tx, organizationId } = ctx;
  const domain = await tx.domain.findFirst({ where: { id: domainId, organizationId }, select: domainColumns });
  if (domain === null) throw new AppError('domain.not_found', { domainId });
  const { host } = domain;
  if (!isPublicHost(host)) return null;
  return readHost(ctx, host, host === zoneOf(host) ? null : await findAliasTarget(ctx, domain));
}

/** Returns the view of a public host. `aliasTarget` is a name that its CNAME record may point to. */
export async function readHost(ctx: OrganizationCtx, host: string, aliasTarget: string | null): Promise<HostView> {
  const { tx, organizationId } = ctx;
  const row = await tx.domainHost.findUnique({ where: { organizationId_host: { organizationId, host } } });
  const servers = (await loadHosts(ctx, [host])).get(host)?.servers ?? [];
  const names = nameAndParents(provenName(host));
  const proofs = await tx.hostProof.findMany({ where: { organizationId, host: { in: names } } });
  const proven = names.flatMap((name) => proofs.find((proof) => proof.host === name && proof.provenAt !== null) ?? []);
  const proof = proven[0] ?? proofs.find((each) => each.host === provenName(host));
  const findings = readFindings(row?.findings);
  const classified = classifyHost(findings, servers);
  const zone = zoneOf(host);
  const asked = new Set(findings?.ports.map(({ address }) => address));
  return {
    host,
    zone,
    isApex: host === zone,
    records: [...addressRecords(host, servers, findings)],
    aliasRecord: aliasTarget === null ? null : aliasRecord(host, aliasTarget, findings),
    state: classified.state,
    found: findings,
    foreignAddresses: [...classified.foreignAddresses],
    missingAddresses: [...classified.missingAddresses],
    cdn: classified.cdn,
    serversWithoutAddress: servers.filter(({ addresses }) => addresses.length === 0).map(({ name }) => name),
    arePortsChecked: asked.size > 0,
    checkedAt: row?.checkedAt ?? null,
    nextCheckAt: row?.nextCheckAt ?? ctx.clock.now(),
    ownership: {
      record: proofRecord(proof?.host ?? host, proof?.token ?? '', proof?.provenAt != null),
      provenAt: proof?.provenAt ?? null,
      conflict: hostConflictSchema
        .nullable()
        .catch(null)
        .parse(row?.conflict ?? null),
    },
  };
}
