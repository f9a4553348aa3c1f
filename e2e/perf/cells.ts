// Measurements of `npm run perf:proxy` and their targets. A missed target is printed, never hidden.

export type Protocol = 'http1' | 'http2' | 'http3';
export type Mode = 'keepalive' | 'fresh' | 'resumed' | 'idle';

export interface Target {
  /** Peer of the figure. Default: Fairlead. */
  readonly of?: string;
  readonly metric: string;
  /** Peer to compare with; undefined if `required` is the figure itself. */
  readonly against?: string;
  readonly required: number;
  readonly goal?: number;
  /** True if a larger ratio is better, as for requests per second. */
  readonly atLeast?: true;
}

export interface Cell {
  readonly name: string;
  readonly what: string;
  /** Cells of one scenario differ in clients only. Default: the cell's name. */
  readonly scenario?: string;
  readonly protocol: Protocol;
  readonly mode: Mode;
  readonly secure: boolean;
  /** Number of concurrent clients; over HTTP/2 and HTTP/3 a client is a stream, with 16 streams on a connection. */
  readonly clients: number;
  readonly bodyBytes: number;
  /** Path of its requests. Default: `/`. */
  readonly path?: string;
  /** Requests per second of an open loop. Default: a closed loop. */
  readonly rate?: number;
  /** True if the app is deployed again while requests arrive: rows before, during and after it. */
  readonly isDeploy?: true;
  readonly targets: readonly Target[];
  /** Peers that take part. Default: all that support the protocol and are no variant. */
  readonly only?: readonly string[];
  /** Variants that take part, too. */
  readonly also?: readonly string[];
}

const keepalive = { protocol: 'http1', mode: 'keepalive', secure: true, bodyBytes: 13 } as const;
const noErrors: Target = { metric: 'errors', required: 0 };

/** HTTP/1.1 over TLS at several numbers of clients. */
export const LADDER = { name: 'ladder', description: 'Concurrency ladder: HTTP/1.1 keepalive over TLS, 13 B.' };

function cpu(required: number, goal?: number): Target {
  return { metric: 'cpu_us_per_request', against: 'nginx', required, ...(goal === undefined ? {} : { goal }) };
}

function shared(required: number, goal: number): Target {
  return { metric: 'requests_per_second', against: 'nginx', required, goal, atLeast: true };
}

function http1(clients: number, targets: readonly Target[]): Cell {
  return {
    ...keepalive,
    name: `h1_c${clients}`,
    scenario: LADDER.name,
    what: `HTTP/1.1 keepalive, ${clients} clients, 13 B`,
    clients,
    targets,
  };
}

export const CELLS: readonly Cell[] = [
  http1(32, [cpu(0.62, 0.5), noErrors]),
  http1(200, [cpu(0.55, 0.43), shared(1.4, 1.5), noErrors]),
  {
    ...keepalive,
    name: 'h1_c200_4k',
    what: 'HTTP/1.1 keepalive, 200 clients, 4 KiB',
    clients: 200,
    bodyBytes: 4096,
    targets: [cpu(0.52), noErrors],
  },
  http1(1000, [cpu(0.5, 0.4), shared(1.6, 1.8), noErrors]),
  http1(5000, [cpu(0.55, 0.4), noErrors]),
  http1(9000, [cpu(0.55, 0.45), noErrors]),
  {
    ...keepalive,
    name: 'h1_fresh',
    what: 'a TLS connection a request, full handshake, 32 clients',
    mode: 'fresh',
    clients: 32,
    targets: [cpu(0.5, 0.45), noErrors],
  },
  {
    ...keepalive,
    name: 'h1_resumed',
    what: 'a TLS connection a request, resumed, 32 clients',
    mode: 'resumed',
    clients: 32,
    targets: [cpu(0.55), noErrors],
  },
  {
    ...keepalive,
    name: 'h2_32x16',
    what: 'HTTP/2, 32 connections of 16 streams',
    protocol: 'http2',
    clients: 512,
    targets: [cpu(0.95, 0.55), noErrors],
  },
  {
    ...keepalive,
    name: 'h3_32x16',
    what: 'HTTP/3, 32 connections of 16 streams',
    protocol: 'http3',
    clients: 512,
    targets: [
      cpu(0.9, 0.65),
      { metric: 'cpu_us_per_request', against: 'caddy', required: 0.2 },
      { metric: 'cpu_us_per_request', against: 'envoy', required: 0.2 },
      noErrors,
    ],
  },
  {
    ...keepalive,
    name: 'h1_c200_64k',
    what: 'HTTP/1.1 keepalive, 200 clients, 64 KiB',
    clients: 200,
    bodyBytes: 65_536,
    targets: [cpu(0.6, 0.5), noErrors],
  },
  {
    ...keepalive,
    name: 'h2_32x16_64k',
    what: 'HTTP/2, 32 connections of 16 streams, 64 KiB',
    protocol: 'http2',
    clients: 512,
    bodyBytes: 65_536,
    targets: [cpu(1, 0.7), noErrors],
  },
  {
    ...keepalive,
    name: 'h3_32x16_64k',
    what: 'HTTP/3, 32 connections of 16 streams, 64 KiB',
    protocol: 'http3',
    clients: 512,
    bodyBytes: 65_536,
    targets: [cpu(1, 0.8), noErrors],
  },
  {
    ...keepalive,
    name: 'plain_c200',
    what: 'plain HTTP/1.1 keepalive, 200 clients, 13 B',
    secure: false,
    clients: 200,
    // A ratio compares rows of the same path only: Fairlead with its app on a Unix socket against nginx with one.
    also: ['fairlead_unix', 'nginx_unix'],
    targets: [cpu(0.7), { ...cpu(0.7, 0.6), of: 'fairlead_unix', against: 'nginx_unix' }, noErrors],
  },
  {
    ...keepalive,
    name: 'idle',
    what: '5,000 TLS connections that asked once and stay',
    mode: 'idle',
    clients: 5000,
    targets: [{ metric: 'idle_kib_per_connection', required: 4, goal: 2.2 }, noErrors],
  },
  {
    ...http1(5000, [{ metric: 'p50_us', against: 'nginx', required: 0.55 }, noErrors]),
    name: 'queue64_c5000',
    scenario: 'queue64_c5000',
    what: 'HTTP/1.1 keepalive, 5,000 clients of an app that takes 64 connections, the others wait in the queue',
    only: ['nginx', 'fairlead'],
  },
  {
    ...http1(200, [noErrors]),
    name: 'routes_100k',
    scenario: 'routes_100k',
    what: 'HTTP/1.1 keepalive, 200 clients, 1,000 beside 100,000 routes',
    only: ['fairlead', 'fairlead_100k'],
  },
  {
    ...keepalive,
    name: 'deploy',
    scenario: 'deploy under load',
    what: 'deploy under load: 64 clients, 1,000 requests/s, an app that takes 20 ms',
    clients: 64,
    path: '/delay/20',
    rate: 1000,
    isDeploy: true,
    targets: [noErrors],
  },
];

/** Cells of `npm run perf:report`. */
export const REPORT_CELLS: readonly string[] = [
  ...['h1_c32', 'h1_c200', 'h1_c1000', 'h1_c5000', 'h1_c9000', 'h1_fresh', 'h2_32x16', 'h3_32x16', 'plain_c200'],
  ...['h1_c200_64k', 'h2_32x16_64k', 'h3_32x16_64k', 'deploy'],
];
