// Attacks of `npm run check:isolation`: attempt, the protection that stops it (`wall`), and the server page's sentence
// that admits it if weaker mode lacks that protection.
import { APP_ATTACKS } from './app-attacks.ts';
import { type Attack, datagram, get, PORTS } from './attack.ts';
import { BUILD_ATTACKS } from './build-attacks.ts';
import { CONTAINER_ATTACKS } from './container-attacks.ts';
import { HOSTS, SERVER } from './namespaces.ts';
import { NETWORK_ATTACKS } from './network-attacks.ts';
import { SERVER_ATTACKS } from './server-attacks.ts';

export const ATTACKS: readonly Attack[] = [
  ...APP_ATTACKS,
  ...SERVER_ATTACKS,
  ...NETWORK_ATTACKS,
  ...BUILD_ATTACKS,
  ...CONTAINER_ATTACKS,
];

/** Attempts that must succeed in both modes. */
export const ALLOWED: readonly Pick<Attack, 'id' | 'what' | 'technique' | 'args' | 'proof'>[] = [
  {
    id: 'allowed-internet-v4',
    what: 'connect to the internet',
    ...get(HOSTS.internetV4, PORTS.world),
    proof: { token: 'internet' },
  },
  {
    id: 'allowed-internet-v6',
    what: 'connect to the internet',
    ...get(HOSTS.internetV6, PORTS.world),
    proof: { token: 'internet' },
  },
  {
    id: 'allowed-internet-udp-v4',
    what: 'ask the internet by UDP',
    ...datagram(HOSTS.internetV4, PORTS.datagrams),
    proof: { token: 'internet' },
  },
  {
    id: 'allowed-resolver',
    what: 'look a name up',
    technique: 'resolve',
    args: {},
    proof: { matches: /^address 198\.51\.100\.10$/ },
  },
  {
    id: 'allowed-proxy-v4',
    what: 'ask another app through the proxy, on the server’s address',
    technique: 'https',
    args: { host: SERVER.v4, port: '{https}', name: '{victimHost}', header: 'X-Check: 1' },
    proof: { token: 'victim' },
  },
  {
    id: 'allowed-proxy-v6',
    what: 'ask another app through the proxy, on the server’s address',
    technique: 'https',
    args: { host: SERVER.v6, port: '{https}', name: '{victimHost}', header: 'X-Check: 1' },
    proof: { token: 'victim' },
  },
];
