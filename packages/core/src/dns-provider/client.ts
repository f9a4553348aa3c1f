// Interface to DNS that core needs: the implementation calls providers and name servers, and reports failures as values.
import type { DnsCredentials } from './schema.ts';

export interface TxtRecord {
  readonly zone: string;
  readonly name: string;
  readonly value: string;
}

export interface DnsFailure {
  /** `unreachable`: a later attempt may succeed. */
  readonly code: 'unreachable' | 'refused' | 'zone_unknown';
  /** Sentence for users. */
  readonly message: string;
}

export interface DnsClient {
  /** Sets or removes one value of a name; null: done. */
  change(credentials: DnsCredentials, action: 'put' | 'remove', record: TxtRecord): Promise<DnsFailure | null>;
  /** True once the name servers of the zone show the record. */
  isShown(record: TxtRecord): Promise<boolean>;
}
