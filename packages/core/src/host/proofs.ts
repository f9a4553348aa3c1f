// Reads and makes proofs of host names.
import { randomBytes } from 'node:crypto';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { nameAndParents, provenName, zoneOf } from './records.ts';

/** Value of a TXT record. A guess of it proves nothing: only the owner of the zone can publish it. */
export function newProofToken(): string {
  return `fairlead-${randomBytes(16).toString('hex')}`;
}

export interface HostOfDomain {
  readonly host: string;
  readonly appId: string;
}

/** Throws domain.not_found. */
export async function requireHostOf({ tx, organizationId }: OrganizationCtx, domainId: string): Promise<HostOfDomain> {
  const domain = await tx.domain.findFirst({
    where: { id: domainId, organizationId },
    select: { host: true, appId: true },
  });
  if (domain === null) throw new AppError('domain.not_found', { domainId });
  return domain;
}

/** Returns the organization's proof of the host or of the nearest name above it. Throws domain.not_found and domain.not_proven. */
export async function requireProof(ctx: OrganizationCtx, domainId: string) {
  const { tx, organizationId } = ctx;
  const { host, appId } = await requireHostOf(ctx, domainId);
  const names = nameAndParents(provenName(host));
  const proofs = await tx.hostProof.findMany({
    where: { organizationId, host: { in: names }, provenAt: { not: null } },
  });
  const proof = names.flatMap((name) => proofs.find((each) => each.host === name) ?? [])[0];
  if (proof === undefined) throw new AppError('domain.not_proven', { host });
  return { proof, appId };
}

/**
 * Keeps other transactions from checking, proving or transferring names of these hosts' zones until this one ends. A change of one
 * name changes who serves those below it, so take it before rows of any host are locked.
 */
export async function lockZones({ tx }: Pick<OrganizationCtx, 'tx'>, hosts: readonly string[]): Promise<void> {
  for (const zone of [...new Set(hosts.map(zoneOf))].sort()) {
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`host zone ${zone}`}, 0))`;
  }
}
