// A benchmark document that can be imported, as another control plane wrote it.
export function importableDocument(changes: object = {}) {
  return {
    format: 'fairlead-benchmark-1',
    runId: 'run_elsewhere',
    state: 'succeeded',
    createdAt: '2026-03-01T03:00:00.000Z',
    startedAt: '2026-03-01T03:00:01.000Z',
    finishedAt: '2026-03-01T03:01:00.000Z',
    plan: { host: 'shop.elsewhere.test', concurrency: [8], protocols: ['http1'], repeats: 1 },
    facts: {
      release: { id: 'rel_elsewhere', number: 7, commitHash: 'c0ffee' },
      configNumber: 2,
      agentVersion: '0.9.0',
      machine: { os: 'Debian 13', kernel: '6.12', arch: 'x86_64', cpuCount: 4, memoryBytes: 8_000_000_000 },
      endReleaseNumber: 7,
    },
    rows: ['proxy', 'direct'].map((target, position) => ({
      position,
      round: 0,
      target,
      protocol: 'http1',
      networkPath: 'own-network',
      concurrency: 8,
      durationMs: 2000,
      requests: 4000,
      errors: 0,
      latency: { sumUs: 80_000, buckets: [[20, 21, 4000]] },
      proxyCpuUs: position === 0 ? 120_000 : 0,
      proxyMemoryBytes: 0,
      bytesReceived: 1000,
    })),
    ...changes,
  };
}
