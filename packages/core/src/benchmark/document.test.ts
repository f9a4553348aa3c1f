// The published JSON Schema is that of the code. `UPDATE_SCHEMA=1` writes it.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { benchmarkDocumentSchema } from './document.ts';

const FILE = new URL('../../../../docs/benchmarks/run.schema.json', import.meta.url);

test('docs/benchmarks/run.schema.json describes the document', () => {
  const schema = { title: 'Benchmark run of Fairlead', ...z.toJSONSchema(benchmarkDocumentSchema) };
  if (process.env.UPDATE_SCHEMA !== undefined) writeFileSync(FILE, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(JSON.parse(JSON.stringify(schema)));
});
