// Facts of the last host checks that decide about orders: CAA records in the way, and an alias for the proof by DNS.

import type { HostZone } from '../dns-provider/index.ts';
import { challengeLabel, challengeName, readFindings } from '../host/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { validatedName } from './rules.ts';

export interface HostFacts {
  /** CAA records that don't allow the authority; null: none. */
  readonly caa: { readonly name: string; readonly issuers: readonly string[] } | null;
  /** Name that `_acme-challenge` of the host is an alias of; null: it is none, or the host was not checked yet. */
  readonly challengeAlias: string | null;
}

const unknown: HostFacts = { caa: null, challengeAlias: null };

/** Returns a function that finds the facts of a host. */
export async function loadHostFacts(
  { tx, organizationId }: OrganizationCtx,
  hosts: readonly string[],
): Promise<(host: string) => HostFacts> {
  const rows = await tx.domainHost.findMany({
    where: { organizationId, host: { in: [...hosts] } },
    select: { host: true, findings: true },
  });
  const facts = new Map(
    rows.map(({ host, findings }): [string, HostFacts] => {
      const found = readFindings(findings);
      const caa = found?.caa?.allows === false ? found.caa : null;
      return [host, { caa, challengeAlias: found?.challengeAlias ?? null }];
    }),
  );
  return (host) => facts.get(host) ?? unknown;
}

/** Place of the TXT record that proves a host. */
export interface ProofPlace extends HostZone {
  readonly name: string;
}

/**
 * Returns where the proof of a host goes; null if no DNS provider has a zone for it. Follows an alias, but not to the proof of
 * another name: an attacker who controls the host's DNS could choose that name.
 */
export function findProofPlace(
  findZone: (name: string) => HostZone | null,
  host: string,
  { challengeAlias }: HostFacts,
): ProofPlace | null {
  if (challengeAlias === null) {
    const zone = findZone(validatedName(host));
    return zone === null ? null : { ...zone, name: challengeName(host) };
  }
  if (challengeAlias.startsWith(`${challengeLabel}.`)) return null;
  const zone = findZone(challengeAlias);
  return zone === null ? null : { ...zone, name: challengeAlias };
}
