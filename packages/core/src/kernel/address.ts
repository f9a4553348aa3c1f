// IP addresses and their ranges, and host names. It never resolves a name.
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';

/** An address or a network. */
export const ipRangeSchema = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'Enter an address or a network such as 203.0.113.0/24.',
});

/** Ranges are addresses or networks such as 10.0.0.0/8. What is no address lies in none. */
export function isInRanges(address: string, ranges: readonly string[]): boolean {
  const plain = plainAddress(address);
  if (plain === null) return false;
  const list = new BlockList();
  for (const range of ranges) {
    const [base = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(base, familyOf(base));
    else list.addSubnet(base, Number(bits), familyOf(base));
  }
  return list.check(plain, familyOf(plain));
}

/** An IPv4 address that came in through an IPv6 socket is written as IPv4 again. Null for what is no address. */
export function plainAddress(text: string): string | null {
  const trimmed = text.trim();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(trimmed)?.[1];
  const address = mapped ?? trimmed;
  return isIP(address) === 0 ? null : address;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/** Tells if the host is this one or a name below it; nothing lies at or below an empty name. */
export function isHostAtOrBelow(host: string, above: string): boolean {
  return above !== '' && (host === above || host.endsWith(`.${above}`));
}
