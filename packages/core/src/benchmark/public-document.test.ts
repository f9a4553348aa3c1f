// Redaction of a published run: a canary in any text of a run never reaches its public document.
import { newId } from '@fairlead/contract/ids';
import { describe, expect, test } from 'vitest';
import { type BenchmarkDocument, benchmarkDocumentSchema } from './document.ts';
import { publicConfiguration, publicDocumentOf } from './public-document.ts';
import { canariesIn, withCanaries } from './redaction.testing.ts';

const LOAD_WORDS = [
  'Methods of the load: POST 100 %.',
  'Each client waits 200 ms between a response and its next request, which is not latency.',
];

const row: BenchmarkDocument['rows'][number] = {
  ...{ position: 0, round: 0, scenario: 'ladder', target: 'proxy', protocol: 'http1', connection: 'reused' },
  ...{ phase: 'before', networkPath: 'own-network', concurrency: 8, durationMs: 2000, requests: 10, errors: 1 },
  ...{ failures: { timeout: 1 }, latency: { sumUs: 1000, buckets: [[96, 100, 10]] } },
  ...{ proxyCpuUs: 400, proxyMemoryBytes: 4096, bytesReceived: 130 },
};
const parts = (['measure', 'load'] as const).map((role) => ({
  ...{ serverId: newId('srv'), name: `acme-${role}`, role, concurrency: 4, clients: 4, requests: 10, errors: 1 },
  ...{ failures: { acme: 1 }, bytesReceived: 130, latency: row.latency, latencyMaxUs: 100, unsent: 0 },
  ...{ generatorCpuUs: 900, generatorSaturated: false, startOffsetUs: 0 },
}));
const document = benchmarkDocumentSchema.parse({
  format: 'fairlead-benchmark-2',
  title: 'Benchmark of shop.acme.test/checkout',
  runId: newId('run'),
  state: 'succeeded',
  ...{ createdAt: '2026-11-29T10:00:00.000Z', startedAt: null, finishedAt: null, warmupMs: 500 },
  command: 'curl https://shop.acme.test',
  method: ['Measured by alice.'],
  plan: {
    ...{ host: 'shop.acme.test', path: '/checkout', concurrency: [8, 32], protocols: ['http1'] },
    load: {
      requests: [
        { method: 'POST', path: '/checkout', headers: { 'X-Shop': 'acme' }, body: '{"buyer":"alice"}', weight: 2 },
      ],
      thinkTimeMs: 200,
    },
  },
  facts: {
    release: { id: newId('rel'), number: 7, commitHash: 'c'.repeat(40) },
    ...{ configNumber: 3, agentVersion: '0.1.0', endReleaseNumber: 7 },
    machine: {
      ...{
        os: 'Debian GNU/Linux 13 (trixie)',
        kernel: '6.12.48-acme-prod',
        arch: 'x64',
        cpuCount: 2,
        memoryBytes: 8e9,
      },
      cpuModel: 'AMD EPYC 9554P 64-Core Processor',
    },
  },
  scenarios: [{ name: 'ladder', description: 'Checkout of acme.' }],
  targets: [
    {
      name: 'proxy',
      label: 'Fairlead of acme',
      kind: 'proxy',
      version: '0.1.0',
      configuration: null,
      networkPath: null,
    },
    {
      ...{
        name: 'nginx',
        label: 'nginx',
        kind: 'peer',
        version: 'nginx version: nginx/1.28.0',
        networkPath: 'own-network',
      },
      configuration:
        'server {\n  listen 8443 ssl;\n  server_name shop.acme.test;\n  ssl_certificate /home/alice/leaf.pem;\n}',
    },
  ],
  baseline: 'nginx',
  notMeasured: [{ target: 'nginx', scenario: 'ladder', reason: 'no /usr/sbin/nginx on acme-prod' }],
  rows: [row, { ...row, position: 1, target: 'acme-proxy', networkPath: 'wg-acme', parts }],
});

describe('a public document', () => {
  const open = publicDocumentOf(document);

  test('keeps figures, hardware and versions', () => {
    expect(open.rows[0]).toEqual({ ...row, phase: 'before' });
    expect(open.facts).toMatchObject({
      agentVersion: '0.1.0',
      machine: { os: 'Debian 13', kernel: '6.12.48', arch: 'x64', cpuCount: 2, cpuModel: 'AMD EPYC' },
    });
    expect(open.targets.map(({ label, version }) => [label, version])).toEqual([
      ['Fairlead', '0.1.0'],
      ['nginx', '1.28.0'],
    ]);
    expect(open.command).toContain('"concurrency":[8,32],"repeats":3');
  });

  test('has no name, release, host or path of the run', () => {
    expect(open).toMatchObject({ title: 'Benchmark of app.example', runId: null, plan: null, method: LOAD_WORDS });
    expect(open.facts).toMatchObject({ release: null, configNumber: null });
    expect(open.command).toContain(
      '"load":{"requests":[{"method":"POST","path":"/","weight":2}],"thinkTimeMs":200,"stages":[]}',
    );
    expect(JSON.stringify(open)).not.toMatch(/acme|shop|alice|checkout|trixie|c{40}/);
  });

  test('has no part and no name of a load server', () => {
    expect(document.rows[1]?.parts).toHaveLength(2);
    expect(open.rows.map((each) => each.parts)).toEqual([undefined, undefined]);
  });

  test('numbers unknown targets and paths, so that rows which differ stay apart', () => {
    expect(open.rows[1]).toMatchObject({ target: 'target-1', networkPath: 'path-1' });
  });

  test('says that a deployment ended meanwhile', () => {
    const { facts } = document;
    if (facts === null) throw new Error('no facts');
    const mixed = publicDocumentOf({ ...document, facts: { ...facts, endReleaseNumber: 8 } });
    expect(mixed.method).toEqual([...LOAD_WORDS, 'A deployment ended during the run: its rows mix two releases.']);
  });
});

test('a canary in any string or key of a run never reaches its public document', () => {
  const all = withCanaries(document);
  expect(all.length).toBeGreaterThan(300);
  for (const { path, changed } of all) {
    let open = '';
    try {
      open = JSON.stringify(publicDocumentOf(changed));
    } catch {
      // A field with fixed values refuses it: nothing is published.
      continue;
    }
    expect([path, canariesIn(open)]).toEqual([path, []]);
  }
});

test('a configuration keeps directives and short numbers, and nothing that names a place or a person', () => {
  expect(publicConfiguration('server {\n  listen 127.0.0.1:8443 ssl;\n  server_name shop.acme.test;\n}')).toBe(
    'server {\n  listen … ssl;\n  server_name …;\n}',
  );
  expect(publicConfiguration('user alice; ssl_certificate /home/alice/leaf.pem; # by bob@acme.test')).not.toMatch(
    /alice|home|bob|acme/,
  );
  expect(publicConfiguration('listen [2001:db8::7]:443')).not.toMatch(/2001|db8|7/);
});
