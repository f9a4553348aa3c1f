// Documents for tests of reports. The figures are invented.
import { bucketIndex, bucketLowerUs, bucketUpperUs } from '@fairlead/contract/buckets';
import {
  type BenchmarkDocument,
  type BenchmarkDocumentRow,
  readBenchmarkDocument,
} from '@fairlead/core/benchmark/document';

export interface Sample {
  readonly target: string;
  readonly concurrency: number;
  /** Requests per second of each round. */
  readonly rates: readonly number[];
  readonly cpuUs?: number | null;
  readonly latencyUs?: number;
  readonly also?: Partial<BenchmarkDocumentRow>;
}

const SECONDS = 2;

export function rowsOf(samples: readonly Sample[]): BenchmarkDocumentRow[] {
  return samples.flatMap(({ target, concurrency, rates, cpuUs = 20, latencyUs = 500, also = {} }) =>
    rates.map((rate, round): BenchmarkDocumentRow => {
      const requests = rate * SECONDS;
      return {
        ...{ position: 0, round, scenario: 'ladder', target, protocol: 'http1', connection: 'reused' },
        ...{ networkPath: 'shared-network', concurrency, durationMs: SECONDS * 1000, requests, errors: 0 },
        latency: latencyOf([latencyUs, latencyUs * 2, latencyUs * 8], requests),
        proxyCpuUs: cpuUs === null ? null : cpuUs * requests,
        proxyMemoryBytes: cpuUs === null ? null : 20_000_000 + concurrency * 10_000,
        ...also,
      };
    }),
  );
}

/** Half of the requests take the first latency, 49 % the second, 1 % the last. */
function latencyOf(us: readonly [number, number, number], requests: number): BenchmarkDocumentRow['latency'] {
  const last = Math.floor(requests / 100);
  const first = Math.floor(requests / 2);
  const counts = [first, requests - first - last, last];
  const buckets = us.map((each, at): [number, number, number] => {
    const index = bucketIndex(each);
    return [bucketLowerUs(index), bucketUpperUs(index), counts[at] ?? 0];
  });
  return { sumUs: us.reduce((sum, each, at) => sum + each * (counts[at] ?? 0), 0), buckets };
}

export function documentOf(samples: readonly Sample[], changes: Partial<BenchmarkDocument> = {}): BenchmarkDocument {
  const target = (name: string, label: string, kind: 'proxy' | 'peer' | 'direct') => ({
    ...{ name, label, kind, version: `${name} 1.2.3`, configuration: `workers 2; # ${name}`, networkPath: null },
  });
  return readBenchmarkDocument({
    format: 'fairlead-benchmark-2',
    title: 'Fairlead beside its peers',
    runId: null,
    state: 'succeeded',
    createdAt: '2026-11-29T10:00:00.000Z',
    startedAt: null,
    finishedAt: null,
    command: 'npm run perf:proxy -- --cells h1_c32',
    method: ['All proxies have two workers.'],
    warmupMs: 500,
    plan: null,
    facts: {
      ...{ release: null, configNumber: null, agentVersion: null, endReleaseNumber: null },
      machine: { os: 'Debian 13', kernel: '6.12.0', arch: 'x64', cpuCount: 2, memoryBytes: 8 * 2 ** 30 },
    },
    scenarios: [{ name: 'ladder', description: 'The same small requests at each concurrency.' }],
    targets: [
      target('fairlead', 'Fairlead', 'proxy'),
      target('nginx', 'nginx', 'peer'),
      target('haproxy', 'HAProxy', 'peer'),
    ],
    baseline: 'nginx',
    notMeasured: [{ target: 'tako', scenario: null, reason: 'in no registry' }],
    rows: rowsOf(samples).map((row, position) => ({ ...row, position })),
    ...changes,
  });
}

/** Three proxies at three levels over TCP, two of them also over a Unix socket, and idle connections. */
export function peersDocument(): BenchmarkDocument {
  const levels = [32, 200, 1000];
  const unix = { networkPath: 'unix-socket' };
  const idle = { connection: 'idle', proxyMemoryBeforeBytes: 10_000_000, clients: 5000 } as const;
  return documentOf([
    ...levels.flatMap((concurrency): Sample[] => [
      { target: 'fairlead', concurrency, rates: [40_000, 40_400, 39_800], cpuUs: 12, latencyUs: concurrency * 20 },
      { target: 'nginx', concurrency, rates: [30_000, 30_300, 29_900], cpuUs: 20, latencyUs: concurrency * 30 },
      { target: 'haproxy', concurrency, rates: [28_000, 28_100, 28_050], cpuUs: 22, latencyUs: concurrency * 32 },
    ]),
    { target: 'fairlead', concurrency: 200, rates: [50_000, 50_500, 49_900], cpuUs: 10, also: unix },
    { target: 'nginx', concurrency: 200, rates: [35_000, 35_300, 34_900], cpuUs: 16, also: unix },
    { target: 'fairlead', concurrency: 5000, rates: [500, 500, 500], also: { ...idle, proxyMemoryBytes: 38_000_000 } },
    { target: 'nginx', concurrency: 5000, rates: [500, 500, 500], also: { ...idle, proxyMemoryBytes: 86_000_000 } },
  ]);
}
