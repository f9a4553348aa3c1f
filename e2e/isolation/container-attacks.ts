// Attacks by containers, and by the RUN steps of a Dockerfile. Full mode only: in weaker mode all containers share the
// engine's bridge, as docs/containers.md says.
import { type Attack, datagram, FORWARD, get, NETWORK, PORTS, rows } from './attack.ts';
import { HOSTS, SERVER } from './namespaces.ts';

type Target = Pick<Attack, 'what' | 'technique' | 'args' | 'proof' | 'wall'>;

const TARGETS: Readonly<Record<string, Target>> = {
  'host-loopback-v4': {
    what: 'connect to a service on the server’s 127.0.0.1',
    ...get('127.0.0.1', PORTS.loopback),
    proof: { token: 'host-loopback' },
    wall: NETWORK,
  },
  'host-address-v4': {
    what: 'connect to a service on the server’s own address',
    ...get(SERVER.v4, PORTS.address),
    proof: { token: 'host-address' },
    wall: FORWARD,
  },
  'host-address-udp-v4': {
    what: 'ask a service on the server’s own address by UDP',
    ...datagram(SERVER.v4, PORTS.addressUdp),
    proof: { token: 'host-udp' },
    wall: FORWARD,
  },
  'gateway-v4': {
    what: 'connect to the control plane’s gateway',
    technique: 'tcp',
    args: { host: '127.0.0.1', port: '{gateway}', send: 'GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' },
    proof: { matches: /^HTTP\/1\.[01] 200/ },
    wall: NETWORK,
  },
  'database-v4': {
    what: 'connect to PostgreSQL',
    technique: 'tcp',
    args: { host: '127.0.0.1', port: '{database}', raw: '0000000804d2162f' },
    proof: { matches: /^[NS]/ },
    wall: NETWORK,
  },
  'app-v4': {
    what: 'connect to an app on its own address',
    ...get('{wideV4}', '{widePort}'),
    proof: { token: 'wide' },
    wall: FORWARD,
  },
  'metadata-v4': {
    what: 'read credentials from 169.254.169.254',
    ...get(HOSTS.metadataV4, PORTS.world),
    proof: { token: 'metadata' },
    wall: FORWARD,
  },
  'metadata-azure-v4': {
    what: 'read credentials from 168.63.129.16',
    ...get(HOSTS.metadataAzure, PORTS.world),
    proof: { token: 'metadata' },
    wall: FORWARD,
  },
  'private10-v4': {
    what: 'connect to a host of 10.0.0.0/8',
    ...get(HOSTS.private10, PORTS.world),
    proof: { token: 'private' },
    wall: FORWARD,
  },
  'carrier-v4': {
    what: 'connect to a host of 100.64.0.0/10',
    ...get(HOSTS.carrier, PORTS.world),
    proof: { token: 'private' },
    wall: FORWARD,
  },
};

function attacksOf(from: 'container' | 'dockerfile'): readonly Attack[] {
  const own = Object.entries(TARGETS).map(([id, target]) => ({ id: `${from}-${id}`, ...target }));
  return rows({ class: from, from, wall: NETWORK, weaker: 'closed', only: 'full' }, own);
}

export const CONTAINER_ATTACKS: readonly Attack[] = [...attacksOf('container'), ...attacksOf('dockerfile')];
