// Figures and names as texts of a report.
import type { Interval } from '@fairlead/core/benchmark/statistics';

const KIB = 1024;
const MIB = KIB * KIB;
const GIB = MIB * KIB;

/** Rounds to three significant digits below 1,000 and to integers above. */
export function formatNumber(value: number): string {
  const digits = value === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

export function formatMs(ms: number): string {
  return ms >= 1000 ? `${formatNumber(ms / 1000)} s` : `${formatNumber(ms)} ms`;
}

export function formatUs(us: number): string {
  return `${formatNumber(us)} µs`;
}

/** Unit in which an axis of bytes has round figures. */
export function byteUnit(highest: number): number {
  return [GIB, MIB, KIB].find((unit) => highest >= 2 * unit) ?? 1;
}

export function formatBytes(bytes: number): string {
  if (bytes >= GIB) return `${formatNumber(bytes / GIB)} GiB`;
  if (bytes >= MIB) return `${formatNumber(bytes / MIB)} MiB`;
  return `${formatNumber(bytes / KIB)} KiB`;
}

/** Never rounds up to 100 %: a failure has to show. */
export function formatShare(share: number): string {
  const percent = Math.floor(share * 100_000) / 1000;
  return `${percent.toLocaleString('en', { maximumFractionDigits: 3 })} %`;
}

export function formatRatio(ratio: number): string {
  return ratio.toFixed(2);
}

/** Names a unit that both ends share once. */
export function formatInterval({ low, high }: Interval, format: (value: number) => string): string {
  const [from, to] = [format(low), format(high)];
  const unit = / \S+$/.exec(to)?.[0] ?? '';
  return `${unit !== '' && from.endsWith(unit) ? from.slice(0, -unit.length) : from} to ${to}`;
}

export function formatDay(iso: string): string {
  return new Date(iso).toLocaleDateString('en', { dateStyle: 'long', timeZone: 'UTC' });
}

export function plural(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

const PROTOCOLS: Readonly<Record<string, string>> = {
  http1: 'HTTP/1.1',
  http2: 'HTTP/2',
  http3: 'HTTP/3',
  websocket: 'WebSocket',
  grpc: 'gRPC',
};
const PROBES: Readonly<Record<string, string>> = {
  json: 'JSON',
  upload: 'Upload of 64 KiB',
  'stream-first-byte': 'First byte of a stream',
  stream: 'Whole stream',
  sse: 'Server-sent event',
  websocket: 'WebSocket round trip',
};
const PATHS: Readonly<Record<string, string>> = {
  'shared-network': 'shared network',
  'own-network': 'own network',
  'unix-socket': 'Unix socket',
  'bench-namespace': 'bench namespace',
  'between-servers': 'between servers',
};
const CONNECTIONS: Readonly<Record<string, string>> = {
  reused: 'reused connections',
  fresh: 'fresh connections',
  resumed: 'resumed connections',
  idle: 'idle connections',
};
const FAILURES: Readonly<Record<string, string>> = {
  connect: 'not connected',
  tls: 'TLS',
  timeout: 'timeout',
  closed: 'closed',
  malformed: 'malformed',
  grpc_status: 'gRPC status',
};

export const protocolLabel = (protocol: string): string => PROTOCOLS[protocol] ?? protocol;
export const probeLabel = (probe: string): string => PROBES[probe] ?? probe;
export const pathLabel = (path: string | null): string => (path === null ? 'unknown path' : (PATHS[path] ?? path));
export const connectionLabel = (connection: string): string => CONNECTIONS[connection] ?? connection;
export const failureLabel = (kind: string): string => FAILURES[kind] ?? kind;
