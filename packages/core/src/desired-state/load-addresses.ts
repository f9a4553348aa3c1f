// Addresses at which load servers look for the server of an app. Pure.
import { canonicalAddress, isInRanges } from '../kernel/index.ts';

const ADDRESSES_MAX = 32;

/** Unspecified, loopback, link-local and multicast: none of them leads to a certain other machine. */
const notTargets = [
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255'],
  ...['::/127', 'fe80::/10', 'ff00::/8'],
];

interface ServerAddresses {
  readonly interfaceAddresses: readonly string[];
  readonly enteredAddresses: readonly string[];
  readonly connectionAddress: string | null;
}

/** Returns the addresses of the app's server but for those that are the load server's own, such as that of a container bridge. */
export function loadAddresses(
  target: ServerAddresses,
  loadServer: Pick<ServerAddresses, 'interfaceAddresses'>,
): string[] {
  const { interfaceAddresses, enteredAddresses, connectionAddress } = target;
  const all = [...interfaceAddresses, ...enteredAddresses, ...(connectionAddress === null ? [] : [connectionAddress])];
  const own = new Set(loadServer.interfaceAddresses.map(canonicalAddress));
  const found = all.flatMap((address) => canonicalAddress(address) ?? []);
  const usable = found.filter((address) => !own.has(address) && !isInRanges(address, notTargets));
  return [...new Set(usable)].slice(0, ADDRESSES_MAX);
}
