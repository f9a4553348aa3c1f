// Interface of DNS providers, and the one place that knows them all. A provider only sets and removes TXT records; both can be
// repeated without harm.
import { createCloudflare } from './cloudflare.ts';
import { createDigitalOcean } from './digitalocean.ts';
import { createHetzner } from './hetzner.ts';
import { createRfc2136 } from './rfc2136.ts';
import { createRoute53 } from './route53.ts';

export type DnsCredentials =
  | { readonly kind: 'cloudflare' | 'hetzner' | 'digitalocean'; readonly token: string }
  | { readonly kind: 'route53'; readonly accessKeyId: string; readonly secretAccessKey: string }
  | {
      readonly kind: 'rfc2136';
      /** Primary name server: host, or host:port. */
      readonly server: string;
      readonly keyName: string;
      readonly algorithm: TsigAlgorithm;
      /** Base64. */
      readonly secret: string;
    };

export type TsigAlgorithm = 'hmac-sha256' | 'hmac-sha384' | 'hmac-sha512';

export interface TxtRecord {
  /** Zone of the record, without a dot at its end. */
  readonly zone: string;
  /** Whole name, without a dot at its end. */
  readonly name: string;
  readonly value: string;
}

export interface DnsProvider {
  /** Throws a DnsProviderError unless the credentials can read the zone. */
  findZone(zone: string): Promise<void>;
  /** Adds a value beside others of the name. */
  putTxt(record: TxtRecord): Promise<void>;
  /** Removes one value, and leaves others of the name. */
  removeTxt(record: TxtRecord): Promise<void>;
}

export interface DnsProviderOptions {
  /** Returns true if the control plane may connect to an address that a user entered. */
  readonly mayCall: (address: string) => boolean;
  /** Base addresses of APIs, for tests. */
  readonly endpoints?: Partial<Readonly<Record<DnsCredentials['kind'], string>>>;
  readonly now?: () => Date;
}

const endpoints = {
  cloudflare: 'https://api.cloudflare.com/client/v4',
  digitalocean: 'https://api.digitalocean.com/v2',
  hetzner: 'https://api.hetzner.cloud/v1',
  route53: 'https://route53.amazonaws.com',
} as const;

export function openDnsProvider(credentials: DnsCredentials, options: DnsProviderOptions): DnsProvider {
  const { kind } = credentials;
  if (kind === 'rfc2136') return createRfc2136(credentials, options);
  const endpoint = options.endpoints?.[kind] ?? endpoints[kind];
  switch (kind) {
    case 'cloudflare':
      return createCloudflare(endpoint, credentials.token);
    case 'digitalocean':
      return createDigitalOcean(endpoint, credentials.token);
    case 'hetzner':
      return createHetzner(endpoint, credentials.token);
    case 'route53':
      return createRoute53(endpoint, credentials, options.now ?? (() => new Date()));
  }
}
