// Format of a run's document: the published JSON Schema is that of the code (`UPDATE_SCHEMA=1` writes it), and documents
// of the first format stay readable.
import { readFileSync, writeFileSync } from 'node:fs';
import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { benchmarkDocumentSchema, readBenchmarkDocument } from './document.ts';

const FILE = new URL('../../../../docs/benchmarks/run.schema.json', import.meta.url);

test('docs/benchmarks/run.schema.json describes the document', () => {
  const schema = { title: 'Benchmark run of Fairlead', ...z.toJSONSchema(benchmarkDocumentSchema, { io: 'input' }) };
  if (process.env.UPDATE_SCHEMA !== undefined) writeFileSync(FILE, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(JSON.parse(JSON.stringify(schema)));
});

const oldRow = {
  ...{ position: 0, round: 0, target: 'proxy', protocol: 'http1', networkPath: 'own-network', concurrency: 8 },
  ...{ durationMs: 2000, requests: 10, errors: 1, proxyCpuUs: 400, proxyMemoryBytes: 4096, bytesReceived: 130 },
  latency: { sumUs: 1000, buckets: [[96, 100, 10]] },
};
const oldDocument = {
  format: 'fairlead-benchmark-1',
  runId: newId('run'),
  state: 'succeeded',
  ...{ createdAt: '2026-11-20T10:00:00.000Z', startedAt: null, finishedAt: null },
  plan: { host: 'hello.example.test', concurrency: [8], protocols: ['http1'] },
  facts: null,
  rows: [oldRow, { ...oldRow, position: 1, target: 'direct', proxyCpuUs: 0, proxyMemoryBytes: 0 }],
};

test('a document of the first format is read as one of the present format', () => {
  const document = readBenchmarkDocument(oldDocument);
  expect(benchmarkDocumentSchema.parse(document)).toEqual(document);
  expect(document.targets.map(({ label, kind, networkPath }) => [label, kind, networkPath])).toEqual([
    ['Fairlead', 'proxy', 'own-network'],
    ['Direct', 'direct', 'own-network'],
  ]);
  expect(document.rows).toEqual([
    { ...oldRow, scenario: 'ladder', connection: 'reused' },
    {
      ...oldDocument.rows[1],
      ...{ scenario: 'ladder', connection: 'reused', proxyCpuUs: null, proxyMemoryBytes: null },
    },
  ]);
});

test('a document of the present format keeps targets, failures and scenarios that the product does not know', () => {
  const row = {
    ...oldRow,
    ...{ scenario: 'greedy', target: 'nginx', connection: 'fresh', failures: { timeout: 1 }, phase: 'event' },
  };
  const document = {
    ...readBenchmarkDocument(oldDocument),
    ...{ runId: null, plan: null, scenarios: [{ name: 'greedy', description: 'One greedy client.' }], rows: [row] },
  };
  expect(readBenchmarkDocument(document)).toEqual(document);
});

test('another format and an oversized text are refused', () => {
  expect(() => readBenchmarkDocument({ ...oldDocument, format: 'fairlead-benchmark-9' })).toThrow('format');
  const document = readBenchmarkDocument(oldDocument);
  expect(() => readBenchmarkDocument({ ...document, title: 'x'.repeat(500) })).toThrow('title');
});
