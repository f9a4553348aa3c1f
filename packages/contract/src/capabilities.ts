// Catalogue of agent capabilities: the features that an agent reports when it connects.
// `npm run gen` writes the agent's list from it. A field of a route's policy that an older agent would leave out has a
// capability of its name, such as traffic.forward_auth.

/** Each capability with what an agent that reports it does. */
export const capabilities = {
  app: 'Runs releases of apps.',
  autoscaling: 'Starts and stops instances of an app with its load.',
  benchmark: 'Runs benchmarks of an app, through the proxy and directly.',
  'benchmark.distributed': 'Takes part in distributed benchmark runs, as a load server or as the server of the app.',
  'benchmark.gate': 'Measures a new release before it gets requests, and fails the rollout on a missed threshold.',
  'benchmark.gate_relative':
    'Measures the live release in turn with the new one, for thresholds of a benchmark gate that are relative to it.',
  'benchmark.godoxy': 'Measures GoDoxy in the lab.',
  'benchmark.grpc': 'Runs benchmarks of unary gRPC calls.',
  'benchmark.http3': 'Runs benchmarks over HTTP/3.',
  'benchmark.lab': 'Runs scenarios, rates and fresh connections, and compares proxies in front of an app of its own.',
  'benchmark.lab_release': 'Compares proxies in front of a copy of the app’s live release.',
  'benchmark.latency': 'Measures latency probes such as uploads, streams, server-sent events and WebSocket messages.',
  'benchmark.load': 'Sends the weighted requests of a benchmark, with think time and stages.',
  'benchmark.scenarios': 'Runs the scenarios packet loss and wake, measures app servers, and knows more proxies.',
  'benchmark.workers': 'Sets the number of threads that generate the load of a benchmark.',
  build: 'Builds a commit of a repository.',
  'build.default_branch': "Builds a repository's default branch when the build names no ref.",
  'build.plan': 'Takes the builder, commands, upload, secrets and credentials of a build from its message.',
  'build.variables': 'Passes variables to build commands and Dockerfiles.',
  certificate: 'Serves certificates of public hosts, and orders them from a certificate authority.',
  'certificate.challenge': 'Verifies hosts by DNS-01 and TLS-ALPN-01 too.',
  container: 'Runs and builds images: its server has a container engine that answers.',
  deployment_url: 'Runs former releases behind their deployment URLs.',
  hook: 'Runs release commands and post-release commands.',
  inspect: 'Reads a source and returns its build plan.',
  liveness: 'Repeats liveness checks, and runs commands as health checks.',
  logs: 'Searches the logs of its apps and sends new lines.',
  network: 'Opens private addresses and ports of the server to an app.',
  rollout: 'Rolls out in batches or with canary steps.',
  route: 'Routes requests to apps and to the control plane.',
  secret: 'Decrypts secrets that are sealed to its server.',
  socket: 'Runs apps that listen on a Unix socket.',
  toolchain: 'Installs the runtimes that a release needs.',
  traffic: 'Applies traffic policies of routes, apps and the proxy.',
  'traffic.forward_auth': 'Asks an app whether a request may pass.',
  'traffic.hsts': 'Sends Strict-Transport-Security of a route.',
  'traffic.rewrite_prefix': 'Replaces the path prefix of a route for the app.',
  'traffic.tls': 'Applies the lowest TLS version and the client certificates of a host.',
  transfer: 'Sends artifacts to the artifact store and fetches them from it.',
  uninstall: 'Removes itself from its server on request.',
  upgrade: 'Replaces its own program by another version.',
  volume: 'Mounts volumes, and deletes them on request.',
  'volume.snapshot': 'Packs volumes into the artifact store, and restores them from it.',
  worker: 'Runs processes without a port beside the web process.',
} as const satisfies Record<string, string>;

export type Capability = keyof typeof capabilities;

/** `reported` stays a list of strings: an older or newer agent may report names that this table lacks. */
export function supports(reported: readonly string[], capability: Capability): boolean {
  return reported.includes(capability);
}
