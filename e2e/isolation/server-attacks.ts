// Attacks of apps on the server and on the control plane.
import { datagram, get, NETWORK, PORTS, rows } from './attack.ts';
import { SERVER } from './namespaces.ts';

const host = rows({ class: 'host', from: 'app', wall: NETWORK, weaker: 'connect' }, [
  {
    id: 'host-loopback-v4',
    what: 'connect to a service on the server’s 127.0.0.1',
    ...get('127.0.0.1', PORTS.loopback),
    proof: { token: 'host-loopback' },
    short: true,
  },
  {
    id: 'host-loopback-v6',
    what: 'connect to a service on the server’s ::1',
    ...get('::1', PORTS.loopback),
    proof: { token: 'host-loopback' },
  },
  {
    id: 'host-address-v4',
    what: 'connect to a service on the server’s own address',
    ...get(SERVER.v4, PORTS.address),
    proof: { token: 'host-address' },
    short: true,
  },
  {
    id: 'host-address-v6',
    what: 'connect to a service on the server’s own address',
    ...get(SERVER.v6, PORTS.address),
    proof: { token: 'host-address' },
  },
  {
    id: 'host-udp-loopback-v4',
    what: 'ask a service on the server’s 127.0.0.1 by UDP',
    ...datagram('127.0.0.1', PORTS.loopbackUdp),
    proof: { token: 'host-udp' },
  },
  {
    id: 'host-udp-loopback-v6',
    what: 'ask a service on the server’s ::1 by UDP',
    ...datagram('::1', PORTS.loopbackUdp),
    proof: { token: 'host-udp' },
  },
  {
    id: 'host-udp-address-v4',
    what: 'ask a service on the server’s own address by UDP',
    ...datagram(SERVER.v4, PORTS.addressUdp),
    proof: { token: 'host-udp' },
  },
  {
    id: 'host-udp-address-v6',
    what: 'ask a service on the server’s own address by UDP',
    ...datagram(SERVER.v6, PORTS.addressUdp),
    proof: { token: 'host-udp' },
  },
  {
    id: 'host-any-v4',
    what: 'connect to a service of the server on 0.0.0.0',
    ...get('0.0.0.0', PORTS.loopback),
    proof: { token: 'host-loopback' },
  },
  {
    id: 'host-any-v6',
    what: 'connect to a service of the server on ::',
    ...get('::', PORTS.loopback),
    proof: { token: 'host-loopback' },
  },
  {
    id: 'host-mapped',
    what: 'connect to a service of the server on ::ffff:127.0.0.1',
    ...get('::ffff:127.0.0.1', PORTS.loopback),
    proof: { token: 'host-loopback' },
  },
  {
    id: 'host-mapped-address',
    what: 'connect to a service of the server on its address, mapped into IPv6',
    ...get(`::ffff:${SERVER.v4}`, PORTS.address),
    proof: { token: 'host-address' },
  },
  {
    id: 'host-resolver-port-v4',
    what: 'reach another port of the loopback address that answers DNS',
    ...get('127.0.0.53', PORTS.loopbackOther),
    proof: { token: 'host-resolver' },
  },
  {
    id: 'host-mptcp-v4',
    what: 'connect to the server by Multipath TCP',
    technique: 'mptcp',
    args: { host: SERVER.v4, port: PORTS.address },
    proof: { token: 'host-address' },
    // Apps with a port of their own may not make sockets that Landlock does not know.
    weaker: 'closed',
  },
  {
    id: 'host-fast-open-v6',
    what: 'connect to the server by TCP Fast Open, without connect(2)',
    technique: 'fast_open',
    args: { host: SERVER.v6, port: PORTS.address },
    proof: { token: 'host-address' },
  },
  {
    id: 'host-link-local-v6',
    what: 'connect to a service of the server on the link-local address of its end of the link',
    ...get('{linkLocal}', PORTS.linkLocal),
    proof: { token: 'host-link-local' },
  },
]);

const controlPlane = rows({ class: 'control plane', from: 'app', wall: NETWORK, weaker: 'connect' }, [
  {
    id: 'control-gateway-v4',
    what: 'connect to the gateway',
    technique: 'tcp',
    args: { host: '127.0.0.1', port: '{gateway}', send: 'GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' },
    proof: { matches: /^HTTP\/1\.[01] 200/ },
    short: true,
  },
  {
    id: 'control-web-v4',
    what: 'connect to the dashboard',
    technique: 'tcp',
    args: { host: '127.0.0.1', port: '{web}' },
    proof: { token: 'web' },
  },
  {
    id: 'control-database-v4',
    what: 'connect to PostgreSQL',
    technique: 'tcp',
    // SSLRequest, which the server answers before authentication.
    args: { host: '127.0.0.1', port: '{database}', raw: '0000000804d2162f' },
    proof: { matches: /^[NS]/ },
    short: true,
  },
  {
    id: 'agent-metrics-v4',
    what: 'read the agent’s metrics',
    technique: 'tcp',
    args: {
      host: '127.0.0.1',
      port: '{metrics}',
      send: 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
    },
    proof: { matches: /^HTTP\/1\.[01] 200/ },
  },
]);

const sockets = rows({ class: 'sockets', from: 'app', wall: 'modes of folders and sockets', weaker: 'closed' }, [
  {
    id: 'socket-proxy',
    what: 'connect to the proxy’s control socket',
    technique: 'unix',
    args: { path: '{proxySocket}', kind: '{proxySocketKind}' },
    proof: { matches: /^connected/ },
    control: { as: 'root' },
    short: true,
  },
  {
    id: 'socket-control-plane',
    what: 'connect to the socket by which the proxy reaches the gateway',
    technique: 'unix',
    args: { path: '{controlSocket}', kind: 'stream' },
    proof: { matches: /^connected/ },
    control: { as: 'root' },
    only: 'full',
    short: true,
  },
  {
    id: 'socket-engine',
    what: 'connect to the container engine’s socket',
    technique: 'unix',
    args: { path: '{engineSocket}' },
    proof: { token: 'engine' },
    control: { as: 'root' },
  },
  {
    id: 'socket-app',
    what: 'connect to the Unix socket that another app listens on',
    technique: 'unix',
    args: { path: '{appSocket}' },
    proof: { token: 'socketed' },
    control: { as: 'root' },
  },
  {
    id: 'socket-abstract',
    what: 'connect to an abstract Unix socket of the server',
    technique: 'unix',
    args: { path: '@{abstract}' },
    proof: { token: 'abstract' },
    wall: 'Landlock, and a network of the instance’s own',
    short: true,
  },
  {
    id: 'socket-hand-over',
    what: 'get a socket of another instance’s network from its shim',
    technique: 'hand_over',
    args: { path: '{handOver}' },
    proof: { token: 'victim' },
    control: { as: 'root' },
    only: 'full',
  },
  {
    id: 'socket-hand-over-flood',
    what: 'use up another shim’s descriptors with requests',
    technique: 'hand_over_flood',
    args: { path: '{handOver}', count: 200 },
    proof: { matches: /^held 200/ },
    control: { as: 'root' },
    only: 'full',
  },
]);

export const SERVER_ATTACKS = [...host, ...controlPlane, ...sockets] as const;
