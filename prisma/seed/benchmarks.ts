// Benchmark runs with rows: throughput rises with concurrency until the app is busy, latency follows, the proxy costs a
// little and HTTP/2 a little more. Makes rows; loads none.
import { bucketIndex, encodeHistogram } from '@fairlead/contract/histogram';
import { newId } from '@fairlead/contract/ids';
import type { CopyRow } from '@fairlead/db/copy';
import type { SeedApp } from './fleet.ts';
import type { Random } from './random.ts';

export interface BenchmarkRows {
  readonly run: CopyRow;
  readonly rows: readonly CopyRow[];
}

const targets = ['proxy', 'direct'] as const;
const protocols = ['http1', 'http2'] as const;
const concurrencies = [1, 8, 32, 128] as const;
const durationMs = 2000;
const warmupMs = 500;
const repeats = 3;
const machine = {
  os: 'Debian GNU/Linux 12',
  kernel: '6.1.0-28-amd64',
  arch: 'x86_64',
  cpuCount: 4,
  memoryBytes: 8 * 1024 ** 3,
};

export function makeBenchmark(
  random: Random,
  app: SeedApp,
  release: CopyRow | undefined,
  createdAt: Date,
  actorUserId: string | null,
): BenchmarkRows {
  const runId = newId('run');
  const cells = Array.from({ length: repeats }, (_, round) =>
    concurrencies.flatMap((concurrency) =>
      protocols.flatMap((protocol) =>
        targets
          .filter((target) => target === 'proxy' || protocol === 'http1')
          .map((target) => ({ round, target, protocol, concurrency })),
      ),
    ),
  ).flat();
  const busyRequestsPerSecond = random.between(6_000, 30_000);
  const startedAt = new Date(createdAt.getTime() + random.int(300, 2_000));
  const run: CopyRow = {
    id: runId,
    organization_id: app.organizationId,
    app_id: app.appId,
    environment_id: app.environmentId,
    server_id: app.serverId,
    state: 'succeeded',
    plan: JSON.stringify({
      host: app.hosts[0] ?? 'localhost',
      path: '/',
      targets,
      protocols,
      concurrency: concurrencies,
      repeats,
      durationMs,
      warmupMs,
    }),
    facts: release === undefined ? null : JSON.stringify(factsOf(release)),
    rows_done: cells.length,
    rows_total: cells.length,
    actor_user_id: actorUserId,
    created_at: createdAt,
    started_at: startedAt,
    finished_at: new Date(startedAt.getTime() + cells.length * (durationMs + warmupMs + 120)),
  };
  const rows = cells.map(({ round, target, protocol, concurrency }, position): CopyRow => {
    const cost = (target === 'proxy' ? 1.25 : 1) * (protocol === 'http2' ? 1.12 : 1) * random.between(0.96, 1.04);
    const requestsPerSecond = ((busyRequestsPerSecond / cost) * concurrency) / (concurrency + 9);
    const requests = Math.round((requestsPerSecond * durationMs) / 1000);
    const medianUs = (concurrency / requestsPerSecond) * 1e6;
    return {
      id: newId('row'),
      organization_id: app.organizationId,
      run_id: runId,
      position,
      round,
      target,
      protocol,
      network_path: 'own-network',
      concurrency,
      duration_ms: durationMs,
      requests,
      errors: random.chance(0.03) ? random.int(1, 5) : 0,
      latency: latencies(random, requests, medianUs),
      proxy_cpu_us: target === 'proxy' ? Math.round(requests * random.between(28, 46)) : 0,
      proxy_memory_bytes: target === 'proxy' ? 18_000_000 + concurrency * 22_000 : 0,
      bytes_received: requests * 512,
    };
  });
  return { run, rows };
}

function factsOf({ id, number, commit_hash: commitHash }: CopyRow) {
  return {
    release: { id, number, commitHash },
    configNumber: 0,
    agentVersion: '0.1.0',
    machine,
    endReleaseNumber: number,
  };
}

function latencies(random: Random, requests: number, medianUs: number): Uint8Array {
  const draws = 400;
  const counts = new Map<number, number>();
  let sumUs = 0;
  for (let draw = 0; draw < draws; draw++) {
    const tail = random.chance(0.02) ? 3 : 1;
    const us = Math.max(20, medianUs * Math.exp(random.normal() * 0.22) * tail);
    const count = Math.floor(requests / draws) + (draw < requests % draws ? 1 : 0);
    const bucket = bucketIndex(us);
    counts.set(bucket, (counts.get(bucket) ?? 0) + count);
    sumUs += Math.round(us) * count;
  }
  return encodeHistogram({ counts, sumUs });
}
