// Document of a proxy measurement with every raw row, in the format of docs/benchmarks/run.schema.json.
import { readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, release, totalmem } from 'node:os';
import { bucketLowerUs, bucketUpperUs } from '@fairlead/contract/buckets';
import {
  type BenchmarkDocument,
  type BenchmarkDocumentRow,
  type BenchmarkDocumentTarget,
  readBenchmarkDocument,
} from '@fairlead/core/benchmark/document';
import { ROOT } from '../../tools/lib/command.ts';
import { type Cell, LADDER, type Mode } from './cells.ts';
import { DRAIN_MS } from './deploy-under-load.ts';
import type { Failure } from './measure.ts';
import { type Contender, WARM_UP_MS } from './measure-row.ts';
import { type Peer, WORKERS } from './peer.ts';
import { MAINLINE } from './peers.ts';
import { type AppPath, baselineOf, type Row } from './proxy-report.ts';

const REASON_MAX = 400;

const LABELS: Readonly<Record<string, string>> = {
  fairlead: 'Fairlead',
  fairlead_100k: 'Fairlead, 100,000 routes',
  haproxy: 'HAProxy',
  envoy: 'Envoy',
  caddy: 'Caddy',
  traefik: 'Traefik',
  nginx_1_28: 'nginx 1.28',
  [MAINLINE]: 'nginx mainline',
  floor: 'Floor',
  godoxy: 'GoDoxy',
  spooky: 'Spooky',
  tako: 'Tako',
};
const PATHS: Readonly<Record<AppPath, string>> = { loopback: 'shared-network', 'unix-socket': 'unix-socket' };
const CONNECTIONS: Readonly<Record<Mode, BenchmarkDocumentRow['connection']>> = {
  keepalive: 'reused',
  fresh: 'fresh',
  resumed: 'resumed',
  idle: 'idle',
};

export interface ProxyRun {
  readonly title: string;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  readonly command: string;
  readonly cells: readonly Cell[];
  readonly contenders: readonly Contender[];
  readonly rows: readonly Row[];
  readonly failures: readonly Failure[];
  /** Cells that can't be measured on this machine. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  /** Peers that were not installed. */
  readonly missing: readonly { readonly name: string; readonly reason: string }[];
}

export function documentOf(run: ProxyRun): BenchmarkDocument {
  const own = run.contenders.find(({ peer }) => peer.name === 'fairlead');
  const cellOf = new Map(run.cells.map((cell) => [cell.name, cell]));
  const measured = new Set(run.rows.map(({ name }) => name));
  const targets = targetsOf(run.contenders.filter(({ peer }) => measured.has(peer.name)));
  return readBenchmarkDocument({
    format: 'fairlead-benchmark-2',
    title: run.title,
    runId: null,
    state: 'succeeded',
    createdAt: run.startedAt.toISOString(),
    startedAt: run.startedAt.toISOString(),
    finishedAt: run.finishedAt.toISOString(),
    command: run.command,
    method: methodOf(run),
    warmupMs: WARM_UP_MS,
    plan: null,
    facts: {
      ...{ release: null, configNumber: null, endReleaseNumber: null },
      agentVersion: own?.program.version ?? null,
      machine: machine(),
    },
    scenarios: scenariosOf(run.cells),
    targets,
    baseline: baselineOf('loopback', measured) ?? null,
    notMeasured: [
      ...run.missing.map(({ name, reason }) => ({
        target: labelOf(name),
        scenario: null,
        reason: plainReason(reason),
      })),
      ...run.skipped.map(({ name, reason }) => ({ target: 'All', scenario: name, reason })),
      ...run.failures.map(({ cell, proxy, reason }) => ({
        target: labelOf(proxy),
        scenario: cell,
        reason: plainReason(reason),
      })),
    ],
    rows: run.rows.flatMap((row, position) => {
      const cell = cellOf.get(row.cell);
      return cell === undefined ? [] : [rowOf(row, cell, position)];
    }),
  });
}

/** Writes one row a line, so that a difference between two files can be read. */
export function writeDocument(file: string, { rows, ...document }: BenchmarkDocument): void {
  const head = JSON.stringify(document, null, 2).replace(/\n\}$/, '');
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  writeFileSync(file, `${head},\n  "rows": [\n${lines}\n  ]\n}\n`);
}

function methodOf({ cells, contenders, rows }: ProxyRun): string[] {
  const isMeasured = (wanted: (cell: Cell) => boolean) =>
    cells.some((cell) => wanted(cell) && rows.some((row) => row.cell === cell.name));
  const most = Math.max(...cells.filter(({ mode }) => mode === 'keepalive').map(({ clients }) => clients));
  return [
    ...METHOD,
    ...(contenders.some(({ peer }) => peer.name === 'floor') ? [FLOOR] : []),
    ...(most === LADDER_END && isMeasured(({ clients }) => clients === most) ? [DESCRIPTORS] : []),
    ...(isMeasured((cell) => cell.isDeploy === true) ? [DEPLOYS, ...switches(contenders)] : []),
  ];
}

const LADDER_END = 9000;
const DESCRIPTORS =
  'The ladder ends at 9,000 clients: a proxy opens two descriptors for each, and the configurations are for 20,000.';
const DEPLOYS = `Deploy under load: an open loop sends at a fixed rate. A second copy of the app starts, the proxy is switched to it, and ${DRAIN_MS / 1000} s later the first copy ends. The client repeats no request. Latency counts from the moment at which a request was due.`;

/** Says how each proxy was switched to the second copy. */
function switches(contenders: readonly Contender[]): string[] {
  const own = contenders.filter(({ peer }) => !peer.isVariant && !peer.hasFixedApp);
  const ways = Map.groupBy(own, ({ peer }) => peer.switchedBy);
  return [...ways].map(
    ([way, users]) => `${users.map(({ peer }) => labelOf(peer.name)).join(', ')}: switched by ${way}.`,
  );
}

const METHOD = [
  `Client, proxy and app share the machine. Each proxy has ${WORKERS} workers and an app of its own.`,
  'TLS 1.3 with one ECDSA P-256 certificate, AES-128-GCM and X25519. Proxies keep connections to their app open.',
  'Load by fairlead-agent bench, a closed loop for each client. It starts when all clients have had a response.',
  'CPU is that of all threads of all processes of a proxy. Memory is the PSS of the same processes.',
  'Fairlead runs with its policies on and 1,000 routes. Peers add the forwarded headers.',
];
const FLOOR =
  'The floor is a null proxy: it forwards the bytes of HTTP/1.1 unread, with one connection to the app for each client.';

function scenariosOf(cells: readonly Cell[]): { name: string; description: string }[] {
  const all = cells.map((cell) => [scenarioOf(cell), cell.what] as const);
  return [...new Map(all)].map(([name, what]) =>
    name === LADDER.name ? LADDER : { name, description: `${what.slice(0, 1).toUpperCase()}${what.slice(1)}.` },
  );
}

function scenarioOf({ scenario, name }: Cell): string {
  return scenario ?? name;
}

/** A variant with its app on a Unix socket is the same target by another path. */
function targetOf({ name, unixApp }: Pick<Peer, 'name' | 'unixApp'>): string {
  return unixApp ? name.replace(/_unix$/, '') : name;
}

function targetsOf(contenders: readonly Contender[]): BenchmarkDocumentTarget[] {
  const targets = new Map<string, BenchmarkDocumentTarget>();
  for (const { peer, program } of contenders) {
    const name = targetOf(peer);
    const isOwn = name.startsWith('fairlead');
    const paths = contenders.filter((each) => targetOf(each.peer) === name).map((each) => each.peer.unixApp ?? false);
    if (targets.has(name)) continue;
    targets.set(name, {
      name,
      label: labelOf(name),
      kind: isOwn ? 'proxy' : name === 'floor' ? 'floor' : 'peer',
      version: program.version === '' ? null : program.version,
      configuration: peer.configuration,
      networkPath: paths.length > 1 ? null : PATHS[paths[0] ? 'unix-socket' : 'loopback'],
    });
  }
  return [...targets.values()];
}

function labelOf(name: string): string {
  const plain = name.replace(/_unix$/, '');
  return LABELS[plain] ?? plain;
}

function rowOf(row: Row, cell: Cell, position: number): BenchmarkDocumentRow {
  const total = (usPerRequest: number | null) =>
    usPerRequest === null ? null : Math.round(usPerRequest * row.requests);
  const unixApp = row.app_path === 'unix-socket';
  return {
    ...{ position, round: row.round, scenario: scenarioOf(cell), protocol: cell.protocol },
    target: targetOf(unixApp ? { name: row.name, unixApp } : { name: row.name }),
    connection: CONNECTIONS[cell.mode],
    ...(row.phase === undefined ? {} : { phase: row.phase }),
    networkPath: PATHS[row.app_path],
    ...{ concurrency: cell.clients, clients: row.clients, durationMs: row.seconds * 1000 },
    ...{ requests: row.requests, errors: row.errors, failures: row.failures, resumed: row.resumed },
    latency: {
      sumUs: row.latency.sum_us,
      buckets: row.latency.buckets.map(([index, count]) => [bucketLowerUs(index), bucketUpperUs(index), count]),
    },
    proxyCpuUs: total(row.cpu_us_per_request),
    generatorCpuUs: total(row.generator_cpu_us_per_request),
    generatorSaturated: row.generator_saturated,
    proxyMemoryBytes: row.memory_bytes,
    proxyMemoryBeforeBytes: row.memory_before_bytes,
  };
}

/** Reason without the folders of this machine. */
function plainReason(reason: string): string {
  return reason
    .replaceAll(ROOT, '.')
    .replaceAll(/\/tmp\/\S+/g, 'a temporary file')
    .slice(0, REASON_MAX);
}

function machine() {
  const [cpu] = cpus();
  const os = /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
  return {
    ...{ os, kernel: release(), arch: arch(), cpuCount: cpus().length, memoryBytes: totalmem() },
    ...(cpu === undefined ? {} : { cpuModel: cpu.model.trim() }),
  };
}
