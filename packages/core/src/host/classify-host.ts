// State of a host: the findings of its last check against the addresses of its servers. Pure.
import { findCdn } from './cdn.ts';
import type { Findings, HostState } from './schema.ts';

export interface ExpectedServer {
  readonly name: string;
  readonly addresses: readonly string[];
}

export interface HostClassification {
  readonly state: HostState;
  readonly foreignAddresses: readonly string[];
  readonly missingAddresses: readonly string[];
  readonly cdn: string | null;
}

export function classifyHost(findings: Findings | null, servers: readonly ExpectedServer[]): HostClassification {
  const expected = servers.flatMap(({ addresses }) => addresses);
  const found = findings?.addresses ?? [];
  const foreignAddresses = found.filter((address) => !expected.includes(address));
  const missingAddresses = expected.filter((address) => !found.includes(address));
  // A CDN hides all servers. If an address of one is visible, the other addresses are outdated records.
  const isHidden = foreignAddresses.length > 0 && foreignAddresses.length === found.length;
  const cdn = isHidden ? findCdn(foreignAddresses, findings?.aliases ?? []) : null;
  const state = (): HostState => {
    if (findings === null) return 'pending';
    if (findings.failure !== null) return 'check_failed';
    if (found.length === 0) return 'not_resolving';
    if (cdn !== null) return 'proxied';
    if (expected.length === 0) return 'address_unknown';
    if (foreignAddresses.length > 0) return 'resolves_elsewhere';
    if (missingAddresses.length > 0) return 'partial';
    if (findings.caa?.allows === false) return 'caa_blocks';
    if (findings.ports.some(({ answer }) => answer === 'none')) return 'port_closed';
    if (findings.ports.some(({ answer }) => answer === 'other')) return 'port_taken';
    return 'ready';
  };
  return { state: state(), foreignAddresses, missingAddresses, cdn };
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Returns the time until the next check: seconds while a member sets up the record, a day once it is right. */
export function checkPauseMs(state: HostState, inStateMs: number): number {
  if (state === 'ready') return inStateMs < 10 * minuteMs ? minuteMs : 24 * hourMs;
  if (inStateMs < 10 * minuteMs) return 10_000;
  if (inStateMs < hourMs) return minuteMs;
  if (inStateMs < 24 * hourMs) return 10 * minuteMs;
  return hourMs;
}

interface CaaRecord {
  readonly issue?: string | undefined;
  readonly issuewild?: string | undefined;
}

/** Returns the authorities that CAA records name (RFC 8659, section 4), and whether one of `identities` is among them. */
export function readCaa(records: readonly CaaRecord[], identities: readonly string[], isWildcard: boolean) {
  const domainOf = (value: string) => value.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const wild = records.flatMap(({ issuewild }) => (issuewild === undefined ? [] : [domainOf(issuewild)]));
  const all = records.flatMap(({ issue }) => (issue === undefined ? [] : [domainOf(issue)]));
  const restricting = isWildcard && wild.length > 0 ? wild : all;
  const issuers = [...new Set(restricting.filter((issuer) => issuer !== ''))];
  const allows = restricting.length === 0 || issuers.some((issuer) => identities.includes(issuer));
  return { issuers, allows };
}
