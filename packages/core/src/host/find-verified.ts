// Finds hosts that are known to be the organization's own.
import { isPublicHost, type OrganizationCtx } from '../kernel/index.ts';
import { nameAndParents, provenName } from './records.ts';
import { readFindings } from './store.ts';

/**
 * Returns those hosts that no other organization serves and that are proven, or lead to a proxy of their own servers. A name of
 * each machine itself needs no proof.
 */
export async function findVerifiedHosts(
  { tx, organizationId }: OrganizationCtx,
  hosts: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.domainHost.findMany({
    where: { organizationId, host: { in: [...hosts] } },
    select: { host: true, state: true, conflict: true, findings: true },
  });
  const namesOf = (host: string) => nameAndParents(provenName(host));
  const proofs = await tx.hostProof.findMany({
    where: { organizationId, host: { in: hosts.flatMap(namesOf) }, provenAt: { not: null } },
    select: { host: true },
  });
  const isVerified = (host: string): boolean => {
    if (!isPublicHost(host)) return true;
    const row = rows.find((each) => each.host === host);
    if (row === undefined || row.conflict !== null) return false;
    const isProven = proofs.some((proof) => namesOf(host).includes(proof.host));
    return isProven || row.state === 'ready' || leadsToProxy(row.findings);
  };
  return new Set(hosts.filter(isVerified));
}

function leadsToProxy(findings: unknown): boolean {
  return readFindings(findings)?.ports.some(({ answer }) => answer === 'proxy') ?? false;
}
