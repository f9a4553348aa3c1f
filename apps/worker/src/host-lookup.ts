// Looks up a host for its check: DNS records, the proof, and ports of the addresses that are its servers'.
// Invariant: it connects only to public addresses, or those that the operator opened, that belong to a server of the host.
import { request } from 'node:https';
import { challengeName, type DueHost, type Findings, provenName, readCaa } from '@fairlead/core/host';
import { type Clock, canonicalAddress, type Log } from '@fairlead/core/kernel';
import { createAddressGuard } from '@fairlead/outbound/addresses';
import { createHostResolver, DnsError } from '@fairlead/outbound/host-resolver';
import { askHttpPort, askTlsPort } from '@fairlead/outbound/ports';

export interface HostLookupOptions {
  /** DNS servers; empty: the system's. */
  readonly resolvers: readonly string[];
  /** Private addresses and networks that may be called. */
  readonly allowed: readonly string[];
  /** Directory of the certificate authority; empty: none. */
  readonly acmeDirectoryUrl: string;
  /** Authority of the directory's own certificate, PEM; empty: the system's. */
  readonly acmeCaPem: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface LookedUp {
  readonly findings: Findings;
  /** Values of the TXT records that may prove the host; null if the DNS servers did not answer. */
  readonly texts: readonly string[] | null;
}

export interface HostLookup {
  lookUp(host: DueHost): Promise<LookedUp>;
}

const identitiesLifetimeMs = 3_600_000;
const directoryBytesMax = 64 * 1024;
const ports = [80, 443] as const;

export function createHostLookup(options: HostLookupOptions): HostLookup {
  const dns = createHostResolver({ servers: options.resolvers });
  const mayCall = createAddressGuard(options.allowed);
  let identities: { readonly names: readonly string[]; readonly untilMs: number } | null = null;

  /** Names by which CAA records allow the authority; empty if it names none. */
  async function findIdentities(): Promise<readonly string[]> {
    const nowMs = options.clock.now().getTime();
    if (identities !== null && nowMs < identities.untilMs) return identities.names;
    let names: readonly string[] = [];
    try {
      if (options.acmeDirectoryUrl !== '') names = await readIdentities(options.acmeDirectoryUrl, options.acmeCaPem);
    } catch (error) {
      options.log.warn({ err: error }, 'the directory of the certificate authority could not be read');
    }
    identities = { names, untilMs: nowMs + identitiesLifetimeMs };
    return names;
  }

  return {
    lookUp: async ({ host, proofName, remoteAddresses, portCheck }) => {
      const isWildcard = host.startsWith('*.');
      try {
        // Any name below a wildcard has its records.
        const records = await dns.resolveHost(isWildcard ? `fairlead-check${host.slice(1)}` : host, provenName(host));
        const challengeAlias = await dns.resolveAlias(challengeName(host));
        const texts = await dns.resolveTexts(proofName);
        const { addresses, aliases } = records;
        const names = records.caa === null ? [] : await findIdentities();
        // Without a known identity no record can be evaluated.
        const caa =
          records.caa === null || names.length === 0
            ? null
            : { name: records.caa.name, ...readCaa(records.caa.records, names, isWildcard) };
        const own = addresses.filter((address) => remoteAddresses.includes(canonicalAddress(address) ?? ''));
        const asked = own.filter(mayCall).flatMap((address) => ports.map((port) => ({ address, port })));
        const answers = await Promise.all(
          asked.map(async ({ address, port }) => {
            const ask = port === 80 ? askHttpPort : askTlsPort;
            const answer = await ask({ address, port }, portCheck);
            // Without a route, such as over IPv6, nothing was asked.
            return answer === null ? [] : [{ address, port, answer }];
          }),
        );
        return {
          findings: {
            addresses: [...addresses],
            aliases: [...aliases],
            challengeAlias,
            caa,
            ports: answers.flat(),
            failure: null,
          },
          texts,
        };
      } catch (error) {
        if (!(error instanceof DnsError)) throw error;
        const none = { addresses: [], aliases: [], challengeAlias: null, caa: null, ports: [] };
        return { findings: { ...none, failure: error.code }, texts: null };
      }
    },
  };
}

/** Reads `meta.caaIdentities` of the directory (RFC 8555, section 7.1.1). */
function readIdentities(directoryUrl: string, caPem: string): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const signal = AbortSignal.timeout(10_000);
  // Authorities may refuse a client without a name (RFC 8555, section 6.1).
  const headers = { 'user-agent': 'fairlead' };
  const options = { headers, signal, agent: false, ...(caPem === '' ? {} : { ca: caPem }) };
  const sent = request(directoryUrl, options, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      text += part;
      if (text.length > directoryBytesMax) sent.destroy(new Error('the directory is too large'));
    });
    response.once('error', reject);
    response.once('end', () => {
      try {
        const names: unknown = JSON.parse(text)?.meta?.caaIdentities;
        resolve(Array.isArray(names) ? names.map((name) => String(name).toLowerCase()) : []);
      } catch (error) {
        reject(error);
      }
    });
  });
  sent.once('error', reject);
  sent.end();
  return promise;
}
