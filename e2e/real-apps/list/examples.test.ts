import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../../tools/lib/command.ts';
import { EXAMPLES } from './examples.ts';

test('the table has every folder of examples/ and no other', () => {
  const folders = readdirSync(join(ROOT, 'examples'));
  expect(EXAMPLES.map(({ example }) => example).sort()).toEqual(folders.sort());
});
