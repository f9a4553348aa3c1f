// Plan documents: the published JSON Schema is that of the code, and errors name their field. `UPDATE_SCHEMA=1` writes it.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
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
