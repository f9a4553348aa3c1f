// Resolver of hosts and their proofs: asks configured servers, or the system's, without a cache and with a time limit.
import { Resolver } from 'node:dns/promises';

export interface HostResolverOptions {
  /** Addresses of DNS servers, with a port if it is not 53; empty: the system's. */
  readonly servers: readonly string[];
  readonly timeoutMs?: number;
}

export interface CaaRecords {
  /** Name that has the records: the host or the nearest name above it. */
  readonly name: string;
  readonly records: readonly { readonly issue?: string | undefined; readonly issuewild?: string | undefined }[];
}

export interface HostRecords {
  readonly addresses: readonly string[];
  /** Names that the host is an alias of, in order. */
  readonly aliases: readonly string[];
  readonly caa: CaaRecords | null;
}

export interface HostResolver {
  /**
   * Throws a DnsError if the servers don't answer. A name that doesn't exist has no records. `caaName`: name at which the climb to
   * CAA records starts.
   */
  resolveHost(host: string, caaName?: string): Promise<HostRecords>;
  /** Returns the name at the end of all aliases; null: the name is no alias. Throws a DnsError. */
  resolveAlias(name: string): Promise<string | null>;
  /** Returns the values of TXT records. Throws a DnsError. */
  resolveTexts(name: string): Promise<readonly string[]>;
}

/** The DNS servers gave no answer about a name. */
export class DnsError extends Error {
  override readonly name = 'DnsError';
  /** Code of c-ares, such as ETIMEOUT. */
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`the DNS servers did not answer: ${code}`, { cause });
    this.code = code;
  }
}

/** Codes that are an answer: no such name, or no such record. */
const none = new Set(['ENODATA', 'ENOTFOUND']);
const aliasesMax = 8;

export function createHostResolver({ servers, timeoutMs = 3_000 }: HostResolverOptions): HostResolver {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);

  async function orNone<T>(query: Promise<readonly T[]>): Promise<readonly T[]> {
    try {
      return await query;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'EUNKNOWN';
      if (none.has(code)) return [];
      throw new DnsError(code, error);
    }
  }

  async function resolveAliases(host: string): Promise<readonly string[]> {
    const aliases: string[] = [];
    for (let name: string | undefined = host; name !== undefined && aliases.length < aliasesMax; ) {
      [name] = await orNone(resolver.resolveCname(name));
      if (name !== undefined) aliases.push(name.toLowerCase().replace(/\.$/, ''));
    }
    return aliases;
  }

  /** Climbs to the nearest name with CAA records (RFC 8659, section 3). */
  async function resolveCaa(host: string): Promise<CaaRecords | null> {
    const labels = host.split('.');
    for (let at = 0; at < labels.length; at += 1) {
      const name = labels.slice(at).join('.');
      const records = await orNone(resolver.resolveCaa(name));
      if (records.length > 0) return { name, records };
    }
    return null;
  }

  return {
    resolveHost: async (host, caaName = host) => {
      const [ipv4, ipv6, aliases] = await Promise.all([
        orNone(resolver.resolve4(host)),
        orNone(resolver.resolve6(host)),
        resolveAliases(host),
      ]);
      const addresses = [...ipv4, ...ipv6];
      return { addresses, aliases, caa: addresses.length === 0 ? null : await resolveCaa(caaName) };
    },
    resolveAlias: async (name) => (await resolveAliases(name)).at(-1) ?? null,
    resolveTexts: async (name) => (await orNone(resolver.resolveTxt(name))).map((parts) => parts.join('')),
  };
}
