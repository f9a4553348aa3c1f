// IP addresses and their ranges, and host names. It never resolves a name.
import { BlockList, isIP, isIPv6 } from 'node:net';
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

/** Returns the form in which equal addresses are equal texts (RFC 5952). Null for what is no address. */
export function canonicalAddress(text: string): string | null {
  const address = plainAddress(text);
  if (address === null || isIP(address) === 4) return address;
  // An address with a zone belongs to one machine, and no URL has it.
  return address.includes('%') ? null : new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** Returns the /64 of an IPv6 address: one subscriber has 2^64 addresses, and they count as one. */
export function networkOf(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const [head = '', tail] = ip.toLowerCase().split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups =
    tail === undefined ? before : [...before, ...Array(8 - before.length - after.length).fill('0'), ...after];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/**
 * Returns the client's address of an X-Forwarded-For. Proxies append the address that they saw, so it is read from the
 * right: the first address that is not a trusted proxy is the client. Null if there is none.
 */
export function forwardedAddress(forwarded: string, trustedProxies: readonly string[]): string | null {
  for (const hop of forwarded.split(',').reverse()) {
    const address = plainAddress(hop);
    if (address === null) return null;
    if (!isInRanges(address, trustedProxies)) return address;
  }
  return null;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/** Returns true if other machines can resolve a host: names below `localhost` are local to each machine. */
export function isPublicHost(host: string): boolean {
  return host !== 'localhost' && !host.endsWith('.localhost');
}

/** Tells if the host is this one or a name below it; nothing lies at or below an empty name. */
export function isHostAtOrBelow(host: string, above: string): boolean {
  return above !== '' && (host === above || host.endsWith(`.${above}`));
}
