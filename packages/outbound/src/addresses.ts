// Addresses that the control plane may call. A user-supplied address must not reach private targets of this machine:
// its own services, its neighbours, its cloud's metadata.
import { BlockList, isIP } from 'node:net';

// IANA's special-purpose registries (RFC 6890 and successors) but for what the internet routes.
const closed: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
// Only global unicast addresses of IPv6 are routed; these ranges of it are not, or lead back into IPv4.
const global6 = '2000::/3';
const closed6: readonly string[] = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const closedList = listOf([...closed, ...closed6]);
const globalList = listOf([global6]);

/** `allowed`: addresses and networks that the operator opened. */
export function createAddressGuard(allowed: readonly string[]): (address: string) => boolean {
  const opened = listOf(allowed);
  return (address) => {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (isIP(address) === 0) return false;
    if (opened.check(address, family)) return true;
    // BlockList checks an IPv4-mapped IPv6 address by its IPv4 part only if it is passed as IPv4.
    const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
    if (mapped !== undefined) return opened.check(mapped, 'ipv4') || !closedList.check(mapped, 'ipv4');
    if (closedList.check(address, family)) return false;
    return family === 'ipv4' || globalList.check(address, 'ipv6');
  };
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    list.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  return list;
}
