// Fields of the credentials of each DNS provider, and their input for the API. Pure.
import type { CreateDnsProviderInput, DnsProviderKind, DnsProviderView } from '@fairlead/core/dns-provider/schema';

export interface CredentialField {
  readonly name: 'token' | 'accessKeyId' | 'secretAccessKey' | 'server' | 'keyName' | 'algorithm' | 'secret';
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly isSecret?: true;
  readonly options?: readonly string[];
}

export interface ProviderForm {
  readonly label: string;
  readonly fields: readonly CredentialField[];
}

const token = (hint: string): CredentialField => ({ name: 'token', label: 'API token', hint, isSecret: true });

export const PROVIDERS: Readonly<Record<DnsProviderKind, ProviderForm>> = {
  cloudflare: { label: 'Cloudflare', fields: [token('Needs the permissions Zone: Read and DNS: Edit for the zones.')] },
  digitalocean: { label: 'DigitalOcean', fields: [token('Needs the scopes domain: read, create and delete.')] },
  hetzner: { label: 'Hetzner', fields: [token('Read and write token of the Cloud project that has the zones.')] },
  route53: {
    label: 'Route 53',
    fields: [
      { name: 'accessKeyId', label: 'Access key ID', placeholder: 'AKIA…' },
      {
        name: 'secretAccessKey',
        label: 'Secret access key',
        hint: 'Needs ListHostedZonesByName, ListResourceRecordSets and ChangeResourceRecordSets.',
        isSecret: true,
      },
    ],
  },
  rfc2136: {
    label: 'Own name server (RFC 2136)',
    fields: [
      { name: 'server', label: 'Primary name server', placeholder: 'ns1.example.com', hint: 'Default port: 53.' },
      { name: 'keyName', label: 'Key name', placeholder: 'fairlead' },
      { name: 'algorithm', label: 'Algorithm', options: ['hmac-sha256', 'hmac-sha384', 'hmac-sha512'] },
      { name: 'secret', label: 'Key', hint: 'TSIG key in base64.', isSecret: true },
    ],
  },
};

export const KINDS = Object.keys(PROVIDERS) as readonly DnsProviderKind[];

export type CredentialValues = Partial<Readonly<Record<CredentialField['name'], string>>>;
export type Credentials = CreateDnsProviderInput['credentials'];

/** Returns the values of a form as the API wants them, which checks them. */
export function credentialsOf(kind: DnsProviderKind, values: CredentialValues): Credentials {
  const fields = PROVIDERS[kind].fields.map(({ name, options }) => [name, values[name] ?? options?.[0] ?? '']);
  return { kind, ...Object.fromEntries(fields) } as Credentials;
}

/** Splits a list of zones at spaces, commas and lines. */
export function zonesOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((zone) => zone !== '');
}

/** Returns the public part of the credentials, for a list. */
export function summaryOf({ kind, settings }: Pick<DnsProviderView, 'kind' | 'settings'>): string {
  if (kind === 'rfc2136') return `${PROVIDERS[kind].label} · ${settings.server}`;
  return kind === 'route53' ? `${PROVIDERS[kind].label} · ${settings.accessKeyId}` : PROVIDERS[kind].label;
}
