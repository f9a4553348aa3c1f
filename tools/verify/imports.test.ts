// Tests of the import rules: plants one breach of each rule in a small repository and expects exactly that one to be
// found.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkImports } from './imports.ts';

let root: string;

const manifest = (name: string, exports: Record<string, string>) => JSON.stringify({ name, exports });

/** Repository without a breach. */
const CLEAN: Record<string, string> = {
  'packages/contract/package.json': manifest('@fairlead/contract', { '.': './src/index.ts', './*': './src/*.ts' }),
  'packages/contract/src/index.ts': 'export const contract = 1;',
  'packages/db/package.json': manifest('@fairlead/db', {
    '.': './src/index.ts',
    './identity': './src/identity.ts',
    './testing': './src/testing.ts',
  }),
  'packages/db/src/index.ts': "import pg from 'pg';\nexport const db = pg;",
  'packages/db/src/identity.ts': 'export const identity = 1;',
  'packages/db/src/testing.ts': 'export const testing = 1;',
  'packages/core/package.json': manifest('@fairlead/core', {
    './*': './src/*/index.ts',
    './*/schema': './src/*/schema.ts',
  }),
  'packages/core/src/kernel/context.ts': "import { db } from '@fairlead/db';\nexport const ctx = db;",
  'packages/core/src/app/index.ts': "export { createApp } from './create-app.ts';",
  'packages/core/src/app/create-app.ts':
    "import { ctx } from '../kernel/context.ts';\nimport { getServer } from '../server/index.ts';\nexport const createApp = [ctx, getServer];",
  'packages/core/src/app/schema.ts': "import { z } from 'zod';\nexport const app = z;",
  'packages/core/src/server/index.ts': "export { getServer } from './get-server.ts';",
  'packages/core/src/server/get-server.ts': "import { app } from '../app/schema.ts';\nexport const getServer = app;",
  'packages/ui/package.json': manifest('@fairlead/ui', { './*': './src/*.tsx' }),
  'packages/ui/src/chart.tsx': "'use client';\nimport { Line } from 'recharts';\nexport const Chart = Line;",
  'packages/auth/package.json': manifest('@fairlead/auth', { '.': './src/index.ts' }),
  'packages/auth/src/index.ts': "import { identity } from '@fairlead/db/identity';\nexport const auth = identity;",
  'apps/web/tsconfig.json': JSON.stringify({ compilerOptions: { paths: { '@/*': ['./src/*'] } } }),
  'apps/web/package.json': manifest('@fairlead/web', {}),
  'apps/web/src/features/app/app-card.tsx':
    "'use client';\nimport { app } from '@fairlead/core/app/schema';\nimport type { createApp } from '@fairlead/core/app';\nimport { format } from '@/lib/format';\nexport const card = [app, format] as unknown as typeof createApp;",
  'apps/web/src/features/server/gauge.tsx': "'use client';\nexport const gauge = 1;",
  'apps/web/src/lib/format.ts': 'export const format = 1;',
};

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-imports-'));
  for (const [path, text] of Object.entries(CLEAN)) write(path, text);
});
afterEach(() => rmSync(root, { recursive: true }));

test('a repository without a breach passes', () => {
  expect(checkImports(root)).toEqual([]);
});

const BREACHES: readonly [rule: string, why: string, file: string, text: string][] = [
  ['layers', 'contract imports core', 'packages/contract/src/x.ts', "import '@fairlead/core/app';"],
  ['layers', 'ui imports contract', 'packages/ui/src/x.tsx', "import '@fairlead/contract';"],
  [
    'layers',
    'core imports an app by a relative path',
    'packages/core/src/app/x.ts',
    "import '../../../../apps/web/src/lib/format.ts';",
  ],
  [
    'layers',
    'a type is a dependency too',
    'packages/db/src/x.ts',
    "import type { createApp } from '@fairlead/core/app';\nexport type X = typeof createApp;",
  ],
  ['owner', 'recharts outside ui', 'apps/web/src/lib/x.ts', "import 'recharts';"],
  ['owner', 'Prisma outside db', 'packages/core/src/app/x.ts', "import '@prisma/client';"],
  ['owner', 'identity outside auth', 'packages/core/src/app/x.ts', "import '@fairlead/db/identity';"],
  ['owner', 'a test database in the product', 'packages/core/src/app/x.ts', "import '@fairlead/db/testing';"],
  [
    'feature-door',
    'a feature entered by another file',
    'packages/core/src/domain/x.ts',
    "import '../app/create-app.ts';",
  ],
  ['feature-door', 'a schema leans on verbs', 'packages/core/src/domain/schema.ts', "import '../app/index.ts';"],

  ['kernel', 'the kernel leans on a feature', 'packages/core/src/kernel/x.ts', "import '../server/index.ts';"],
  [
    'core-circle',
    'features in a circle',
    'packages/core/src/server/x.ts',
    "import { createApp } from '../app/index.ts';\nexport const x = createApp;",
  ],
  ['web-feature', 'a web feature imports another', 'apps/web/src/features/app/x.ts', "import '../server/gauge.tsx';"],
  ['resolve', 'a subpath that is not exported', 'apps/web/src/lib/x.ts', "import '@fairlead/auth/secret';"],
  ['resolve', 'a computed import', 'apps/web/src/lib/x.ts', 'export const load = (name: string) => import(name);'],
  ['browser', 'node:* in a client file', 'apps/web/src/lib/x.tsx', "'use client';\nimport 'node:fs';"],
  [
    'browser',
    'a verb in a client file',
    'apps/web/src/lib/x.tsx',
    "'use client';\nimport { createApp } from '@fairlead/core/app';\nexport const x = createApp;",
  ],
];

describe('a planted breach is found', () => {
  test.each(BREACHES)('%s: %s', (rule, _why, file, text) => {
    write(file, text);
    const found = checkImports(root);
    expect(found.map((breach) => [breach.rule, breach.file])).toEqual([[rule, file]]);
  });
});

test('a browser reaches the database through three other files', () => {
  write('apps/web/src/lib/one.tsx', "'use client';\nimport './two.ts';");
  write('apps/web/src/lib/two.ts', "export * from './three.ts';");
  write('apps/web/src/lib/three.ts', "export const later = () => import('./four.ts');");
  write('apps/web/src/lib/four.ts', "import { db } from '@fairlead/db';\nexport const four = db;");
  const found = checkImports(root);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatchObject({ rule: 'browser', file: 'apps/web/src/lib/four.ts', line: 1 });
  expect(found[0]?.message).toContain(
    'apps/web/src/lib/one.tsx → apps/web/src/lib/two.ts → apps/web/src/lib/three.ts → apps/web/src/lib/four.ts',
  );
});
