// Client of DNS providers and name servers that reports failures as values.
import { DnsProviderError, type DnsProviderErrorCode } from './error.ts';
import { type DnsCredentials, type DnsProviderOptions, openDnsProvider, type TxtRecord } from './provider.ts';
import { createTxtLookup } from './txt-lookup.ts';

export interface DnsClientOptions extends DnsProviderOptions {
  /** Resolvers that show new records; empty: the name servers of each zone. */
  readonly resolvers: readonly string[];
}

export interface DnsFailure {
  readonly code: DnsProviderErrorCode;
  readonly message: string;
}

export interface DnsClient {
  /** Sets or removes one value of a name; null: done. */
  change(credentials: DnsCredentials, action: 'put' | 'remove', record: TxtRecord): Promise<DnsFailure | null>;
  /** True once the name servers of the zone show the record. */
  isShown(record: TxtRecord): Promise<boolean>;
}

export function createDnsClient(options: DnsClientOptions): DnsClient {
  const { isShown } = createTxtLookup(options);
  return {
    change: async (credentials, action, record) => {
      const provider = openDnsProvider(credentials, options);
      try {
        await (action === 'put' ? provider.putTxt(record) : provider.removeTxt(record));
        return null;
      } catch (error) {
        if (!(error instanceof DnsProviderError)) throw error;
        return { code: error.code, message: error.message };
      }
    },
    isShown,
  };
}
