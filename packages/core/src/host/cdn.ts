// Content delivery networks by address and by alias, as of 2026-11. Pure. An unknown one shows as another address.
import { isInRanges } from '../kernel/index.ts';

interface Cdn {
  readonly name: string;
  /** Published ranges; empty where they change too often to ship. */
  readonly ranges: readonly string[];
  /** Ends of the names that customers point aliases at. */
  readonly aliases: readonly string[];
}

const cdns: readonly Cdn[] = [
  {
    name: 'Cloudflare',
    // https://www.cloudflare.com/ips/
    ranges: [
      '173.245.48.0/20',
      '103.21.244.0/22',
      '103.22.200.0/22',
      '103.31.4.0/22',
      '141.101.64.0/18',
      '108.162.192.0/18',
      '190.93.240.0/20',
      '188.114.96.0/20',
      '197.234.240.0/22',
      '198.41.128.0/17',
      '162.158.0.0/15',
      '104.16.0.0/13',
      '104.24.0.0/14',
      '172.64.0.0/13',
      '131.0.72.0/22',
      '2400:cb00::/32',
      '2606:4700::/32',
      '2803:f800::/32',
      '2405:b500::/32',
      '2405:8100::/32',
      '2a06:98c0::/29',
      '2c0f:f248::/32',
    ],
    aliases: ['cdn.cloudflare.net'],
  },
  {
    name: 'Fastly',
    // https://api.fastly.com/public-ip-list
    ranges: [
      '23.235.32.0/20',
      '43.249.72.0/22',
      '103.244.50.0/24',
      '103.245.222.0/23',
      '103.245.224.0/24',
      '104.156.80.0/20',
      '140.248.64.0/18',
      '140.248.128.0/17',
      '146.75.0.0/17',
      '151.101.0.0/16',
      '157.52.64.0/18',
      '167.82.0.0/17',
      '167.82.128.0/20',
      '167.82.160.0/20',
      '167.82.224.0/20',
      '172.111.64.0/18',
      '185.31.16.0/22',
      '199.27.72.0/21',
      '199.232.0.0/16',
      '2a04:4e40::/32',
      '2a04:4e42::/32',
    ],
    aliases: ['fastly.net', 'fastlylb.net'],
  },
  { name: 'Amazon CloudFront', ranges: [], aliases: ['cloudfront.net'] },
  { name: 'Akamai', ranges: [], aliases: ['edgekey.net', 'edgesuite.net', 'akamaiedge.net', 'akamai.net'] },
  { name: 'Azure Front Door', ranges: [], aliases: ['azurefd.net', 'azureedge.net'] },
  { name: 'bunny.net', ranges: [], aliases: ['b-cdn.net'] },
];

/** Returns the name of the CDN that an alias or an address belongs to; null if none is known. */
export function findCdn(addresses: readonly string[], aliases: readonly string[]): string | null {
  const found = cdns.find(
    ({ ranges, aliases: ends }) =>
      aliases.some((alias) => ends.some((end) => alias === end || alias.endsWith(`.${end}`))) ||
      addresses.some((address) => isInRanges(address, ranges)),
  );
  return found?.name ?? null;
}
