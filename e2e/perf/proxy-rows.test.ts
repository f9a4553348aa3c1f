// Documents of a proxy measurement: rows of the bench command keep their figures, and a variant is a path of its target.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBenchmarkDocument } from '@fairlead/core/benchmark/document';
import { expect, it } from 'vitest';
import { ROOT } from '../../tools/lib/command.ts';
import { CELLS } from './cells.ts';
import { fairlead, MAINLINE, PEERS } from './peers.ts';
import type { Row } from './proxy-report.ts';
import { documentOf, type ProxyRun, writeDocument } from './proxy-rows.ts';

const row = (change: Partial<Row>): Row => ({
  ...{ cell: 'h1_c200', name: 'nginx', mode: 'keepalive', app_path: 'loopback', clients: 200, round: 0, seconds: 2 },
  ...{ requests: 1000, requests_per_second: 500, errors: 2, failures: { timeout: 2 }, resumed: 0 },
  ...{ p50_us: 96, p99_us: 96, cpu_us_per_request: 20.5, generator_cpu_us_per_request: 7, generator_saturated: true },
  ...{ memory_before_bytes: 1000, memory_bytes: 5000 },
  latency: { buckets: [[48, 1000]], sum_us: 97_000 },
  ...change,
});

const contenders = [...fairlead('/opt/fairlead-agent'), ...PEERS]
  .filter(({ name }) => /^(fairlead|nginx)(_unix)?$/.test(name))
  .map((peer) => ({ peer, program: { file: '/usr/sbin/x', version: `${peer.name} 1.0` } }));
const own = { file: '/usr/sbin/x', version: 'newest' };
const run: ProxyRun = {
  title: 'Fairlead beside nginx',
  startedAt: new Date(0),
  finishedAt: new Date(60_000),
  command: 'npm run perf:proxy -- --rows FILE',
  cells: CELLS,
  contenders,
  rows: [
    row({}),
    row({ name: 'fairlead', round: 1 }),
    row({ cell: 'plain_c200', name: 'nginx_unix', app_path: 'unix-socket' }),
    row({ cell: 'deploy', phase: 'during', seconds: 5, cpu_us_per_request: null, memory_bytes: null }),
    row({ cell: 'idle', mode: 'idle', clients: 4999, cpu_us_per_request: null }),
  ],
  failures: [{ cell: 'h1_c32', proxy: 'haproxy', reason: `no ${ROOT}/peers/x and /tmp/abc/log` }],
  skipped: [{ name: 'h1_c9000', reason: 'too few descriptors' }],
  missing: [{ name: 'tako', reason: 'in no registry' }],
};
const document = documentOf(run);

it('keeps the figures of the rows, with their histogram', () => {
  expect(document.rows[0]).toMatchObject({
    ...{ position: 0, round: 0, scenario: 'ladder', target: 'nginx', protocol: 'http1', connection: 'reused' },
    ...{ networkPath: 'shared-network', concurrency: 200, clients: 200, durationMs: 2000, requests: 1000, errors: 2 },
    ...{ failures: { timeout: 2 }, proxyCpuUs: 20_500, generatorCpuUs: 7000, generatorSaturated: true },
    ...{ proxyMemoryBytes: 5000, proxyMemoryBeforeBytes: 1000, latency: { sumUs: 97_000, buckets: [[64, 68, 1000]] } },
  });
  expect(document.rows[1]).toMatchObject({ position: 1, round: 1, target: 'fairlead' });
  expect(document.rows[4]).toMatchObject({ connection: 'idle', scenario: 'idle', clients: 4999, proxyCpuUs: null });
});

it('writes the part of a deployment with what it can measure, and says how each proxy was switched', () => {
  expect(document.rows[3]).toMatchObject({
    ...{ scenario: 'deploy under load', phase: 'during', durationMs: 5000, errors: 2 },
    ...{ proxyCpuUs: null, proxyMemoryBytes: null },
  });
  expect(document.method.filter((line) => line.includes('switched'))).toEqual([
    expect.stringContaining('A second copy of the app starts'),
    'Fairlead, nginx: switched by its configuration and SIGHUP.',
  ]);
});

it('compares with the newest nginx where it takes part', () => {
  const newest = [
    ...contenders,
    ...PEERS.filter(({ name }) => name === MAINLINE).map((peer) => ({ peer, program: own })),
  ];
  const rows = [row({}), row({ name: MAINLINE })];
  expect(documentOf({ ...run, contenders: newest, rows }).baseline).toBe(MAINLINE);
});

it('writes a variant on a Unix socket as another path of the same target', () => {
  expect(document.rows[2]).toMatchObject({ target: 'nginx', networkPath: 'unix-socket', scenario: 'plain_c200' });
  expect(document.targets.map(({ name, kind, version }) => [name, kind, version])).toEqual([
    ['fairlead', 'proxy', 'fairlead 1.0'],
    ['nginx', 'peer', 'nginx 1.0'],
  ]);
  expect(document.baseline).toBe('nginx');
});

it('names the committed configurations and what was not measured, without folders of the machine', () => {
  for (const { configuration } of document.targets) expect(configuration).toContain('@HTTPS_PORT@');
  expect(document.notMeasured).toEqual([
    { target: 'Tako', scenario: null, reason: 'in no registry' },
    { target: 'All', scenario: 'h1_c9000', reason: 'too few descriptors' },
    { target: 'HAProxy', scenario: 'h1_c32', reason: 'no ./peers/x and a temporary file' },
  ]);
  expect(document.scenarios.find(({ name }) => name === 'ladder')?.description).toContain('Concurrency ladder');
});

it('is written with one row a line and read as it was', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-rows-'));
  try {
    const file = join(folder, 'rows.json');
    writeDocument(file, document);
    const text = readFileSync(file, 'utf8');
    expect(readBenchmarkDocument(JSON.parse(text))).toEqual(document);
    expect(text.split('\n').filter((line) => line.startsWith('    {"position"'))).toHaveLength(5);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
