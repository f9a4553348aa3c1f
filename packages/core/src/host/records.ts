// DNS records that lead a host to its servers, and the one that proves it. Pure.
import { getDomain } from 'tldts';
import type { ExpectedServer } from './classify-host.ts';
import type { DnsRecord, Findings } from './schema.ts';

const ttlSeconds = 300;
const proofLabel = '_fairlead-challenge';
/** First label of the TXT record that proves a name to a certificate authority (RFC 8555, 8.4). */
export const challengeLabel = '_acme-challenge';

/** Returns the name that a proof of the host is about: for a wildcard, the name after `*.`. */
export function provenName(host: string): string {
  return host.startsWith('*.') ? host.slice(2) : host;
}

/** Returns the name and every name above it, the nearest first. */
export function nameAndParents(name: string): string[] {
  const labels = name.split('.');
  return labels.slice(0, -1).map((_, at) => labels.slice(at).join('.'));
}

export function proofRecordName(host: string): string {
  return `${proofLabel}.${provenName(host)}`;
}

export function challengeName(host: string): string {
  return `${challengeLabel}.${provenName(host)}`;
}

/** Returns the registrable domain of a host; the host itself where no list knows one. */
export function zoneOf(host: string): string {
  return getDomain(provenName(host)) ?? provenName(host);
}

function relativeName(fullName: string, zone: string): string {
  return fullName === zone ? '@' : fullName.slice(0, -zone.length - 1);
}

export function addressRecords(
  host: string,
  servers: readonly ExpectedServer[],
  findings: Findings | null,
): readonly DnsRecord[] {
  const name = relativeName(host, zoneOf(host));
  return servers.flatMap((server) =>
    server.addresses.map((address) => ({
      type: address.includes(':') ? ('AAAA' as const) : ('A' as const),
      name,
      fullName: host,
      value: address,
      ttlSeconds,
      serverName: server.name,
      isSet: findings === null || findings.failure !== null ? null : findings.addresses.includes(address),
    })),
  );
}

export function aliasRecord(host: string, target: string, findings: Findings | null): DnsRecord {
  return {
    type: 'CNAME',
    name: relativeName(host, zoneOf(host)),
    fullName: host,
    value: target,
    ttlSeconds,
    serverName: null,
    isSet: findings === null || findings.failure !== null ? null : findings.aliases.includes(target),
  };
}

export function proofRecord(host: string, token: string, isProven: boolean): DnsRecord {
  const fullName = proofRecordName(host);
  return {
    type: 'TXT',
    name: relativeName(fullName, zoneOf(host)),
    fullName,
    value: token,
    ttlSeconds,
    serverName: null,
    isSet: isProven ? true : null,
  };
}
