// Plan documents: the published JSON Schema is that of the code, and errors name their field. `UPDATE_SCHEMA=1` writes it.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { benchmarkPlanSchema } from '../benchmark/schema.ts';
import { planDocumentSchema } from './schema.ts';

const FILE = new URL('../../../../docs/benchmarks/plan.schema.json', import.meta.url);

test('docs/benchmarks/plan.schema.json describes the document', () => {
  const document = z.toJSONSchema(planDocumentSchema, { io: 'input' });
  const schema = { title: 'Benchmark plan of Fairlead', ...document };
  if (process.env.UPDATE_SCHEMA !== undefined) writeFileSync(FILE, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(JSON.parse(JSON.stringify(schema)));
});

test('a small document gets the defaults, and errors name their field', () => {
  const small = planDocumentSchema.parse({ format: 'fairlead-plan-1', name: ' Nightly ', plan: { concurrency: [4] } });
  expect(small).toMatchObject({ name: 'Nightly', plan: { concurrency: [4], repeats: 3, path: '/' } });
  const fieldsOf = (document: unknown) =>
    planDocumentSchema.safeParse(document).error?.issues.map(({ path }) => path.join('.'));
  const document = (plan: object) => ({ format: 'fairlead-plan-1', name: 'Nightly', plan });
  expect(fieldsOf(document({ concurrency: [4, 0] }))).toEqual(['plan.concurrency.1']);
  expect(fieldsOf(document({ concurency: [4] }))).toEqual(['plan']);
  expect(fieldsOf(document({ targets: ['direct'], protocols: ['http2'] }))).toEqual(['plan.protocols']);
  expect(fieldsOf({ ...document({}), format: 'fairlead-benchmark-1' })).toEqual(['format']);
});

// Readers of JSON in other languages refuse them, so they are no cases of the contract's documents.
test('unpaired surrogates are refused', () => {
  for (const plan of [
    { host: '\udc00.example.test' },
    { load: { requests: [{ method: 'POST', path: '/', body: 'a\ud800b' }] } },
  ]) {
    expect(planDocumentSchema.safeParse({ format: 'fairlead-plan-1', name: 'Nightly', plan }).success).toBe(false);
  }
});

const documentCaseSchema = z.object({
  name: z.string(),
  document: z.unknown(),
  valid: z.boolean(),
  fault: z.string().optional(),
});

test('the contract’s documents are valid as in the agent, which runs them without a control plane', () => {
  const file = new URL('../../../contract/fixtures/plan-documents.json', import.meta.url);
  for (const { name, document, valid, fault } of documentCaseSchema
    .array()
    .parse(JSON.parse(readFileSync(file, 'utf8')))) {
    const { success, error } = planDocumentSchema.safeParse(document);
    expect(success, `${name}: ${error?.message}`).toBe(valid);
    if (fault !== undefined)
      expect(
        error?.issues.map(({ message }) => message),
        name,
      ).toContain(fault);
  }
});

test('a value out of bounds gets a sentence', () => {
  const wrong = { concurrency: [0, 20_001], protocols: [], requestsPerSecond: 0, labApp: { responseDelayMs: 20_000 } };
  const { error } = benchmarkPlanSchema.safeParse({ ...wrong, targets: [], link: { lossPercent: 51, delayMs: -1 } });
  expect(error?.issues.map(({ message }) => message)).toEqual([
    'Choose at least 1 target.',
    'Choose at least 1 protocol.',
    'Choose at least 1 client.',
    'Choose at most 20000 clients.',
    'Choose at least 1 request per second.',
    'A response delay is at most 10000 ms.',
    'Packet loss is at most 50 %.',
    'A link delay is at least 0 ms.',
  ]);
});
