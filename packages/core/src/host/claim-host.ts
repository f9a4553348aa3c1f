// Claims a host name for an organization, when it gets its first domain.
import { newId } from '@fairlead/contract/ids';
import { isPublicHost, type OrganizationCtx } from '../kernel/index.ts';
import { newProofToken } from './proofs.ts';
import { provenName } from './records.ts';

/** Starts the host's checks at once. Keeps an earlier claim and proof. */
export async function claimHost({ tx, organizationId, clock }: OrganizationCtx, host: string): Promise<void> {
  if (!isPublicHost(host)) return;
  const now = clock.now();
  await tx.domainHost.createMany({
    data: [{ organizationId, host, createdAt: now, stateSince: now, nextCheckAt: now }],
    skipDuplicates: true,
  });
  await tx.hostProof.createMany({
    data: [{ id: newId('prf'), organizationId, host: provenName(host), token: newProofToken(), createdAt: now }],
    skipDuplicates: true,
  });
}
