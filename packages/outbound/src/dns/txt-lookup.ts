// Looks up if a zone shows a TXT record: asks the zone's own name servers, or resolvers that the operator set. No cache is asked,
// as it may keep the absence of the record for minutes.
import { Resolver } from 'node:dns/promises';
import type { TxtRecord } from './provider.ts';

const attempt = { timeout: 3000, tries: 2 };

export interface TxtLookupOptions {
  /** Addresses of resolvers; empty: the zone's name servers. */
  readonly resolvers: readonly string[];
  readonly mayCall: (address: string) => boolean;
}

export interface TxtLookup {
  /** True once every server that answers shows the record. */
  isShown(record: TxtRecord): Promise<boolean>;
}

export function createTxtLookup({ resolvers, mayCall }: TxtLookupOptions): TxtLookup {
  return {
    isShown: async (record) => {
      const servers = resolvers.length > 0 ? resolvers : await nameServersOf(record.zone, mayCall);
      const answers = await Promise.all(servers.map((server) => hasRecord(server, record)));
      const given = answers.filter((answer) => answer !== null);
      return given.length > 0 && given.every((answer) => answer);
    },
  };
}

async function nameServersOf(zone: string, mayCall: (address: string) => boolean): Promise<readonly string[]> {
  const resolver = new Resolver(attempt);
  const names = await resolver.resolveNs(zone).catch(() => []);
  const addresses = await Promise.all(
    names.flatMap((name) => [
      resolver.resolve4(name).catch(() => []),
      resolver.resolve6(name).then(
        (found) => found.map((address) => `[${address}]`),
        () => [],
      ),
    ]),
  );
  return addresses.flat().filter((address) => mayCall(address.replace(/[[\]]/g, '')));
}

/** Returns null if the server gives no answer. */
async function hasRecord(server: string, { name, value }: TxtRecord): Promise<boolean | null> {
  const resolver = new Resolver(attempt);
  resolver.setServers([server]);
  try {
    return (await resolver.resolveTxt(name)).some((parts) => parts.join('') === value);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    return code === 'ENOTFOUND' || code === 'ENODATA' ? false : null;
  }
}
