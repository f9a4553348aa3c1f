// Stores an agent's facts about itself and its host, clipped so that no agent can fill our tables.
import { X509Certificate } from 'node:crypto';
import type { HostInfo, SealingKey } from '@fairlead/contract/agent';
import { AppError, canonicalAddress, clipText } from '../kernel/index.ts';
import type { HostInfoView, LocalCa } from './schema.ts';

const wordMax = 200;
const listMax = 50;
const authorityPemMax = 8 * 1024;

/** Facts as they are stored: a certificate authority beside what the dashboard lists. */
export function hostInfoOf(host: HostInfo | undefined): Partial<HostInfoView> & { readonly localCaPem?: string } {
  if (host === undefined) return {};
  return {
    hostname: clipText(host.hostname, wordMax),
    os: clipText(host.os, wordMax),
    kernel: clipText(host.kernel, wordMax),
    arch: clipText(host.arch, wordMax),
    cpuCount: host.cpuCount,
    memoryBytes: Number(host.memoryBytes),
    diskBytes: Number(host.diskBytes),
    isolationOff: clipList(host.isolationOff),
    ...(isAuthority(host.localCaPem) ? { localCaPem: host.localCaPem } : {}),
  };
}

/** True for one certificate of an authority: people install it, so nothing else may be in the file. */
function isAuthority(pem: string): boolean {
  if (pem.length > authorityPemMax) return false;
  if (!/^-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*$/.test(pem)) return false;
  return readLocalCa(pem) !== null;
}

/** Reads the root of a server's local authority; null if it is none. */
export function readLocalCa(pem: string): LocalCa | null {
  try {
    const root = new X509Certificate(pem);
    if (!root.ca) return null;
    return { pem, fingerprint: root.fingerprint256, notAfter: root.validToDate };
  } catch {
    // An older agent sends none. An invalid one is not shown.
    return null;
  }
}

/** Returns the addresses of the host's interfaces, in the form in which two of them compare. */
export function interfaceAddressesOf(host: HostInfo | undefined): string[] {
  return (host?.addresses ?? []).slice(0, listMax).flatMap((address) => canonicalAddress(address) ?? []);
}

/** Clips a list of capabilities, or of what cannot be isolated. */
export function clipList(words: readonly string[]): string[] {
  return words.slice(0, listMax).map((word) => clipText(word, wordMax));
}

/** Returns an age X25519 recipient; undefined if the agent sends none. */
export function recipientOf(sealing: SealingKey | undefined): string | undefined {
  if (sealing === undefined) return undefined;
  if (!/^age1[02-9ac-hj-np-z]{58}$/.test(sealing.recipient)) throw new AppError('link.malformed');
  return sealing.recipient;
}

export function agentVersionOf(version: string): string {
  return clipText(version, 60);
}
