import { expect, test } from 'vitest';
import { filesToUpload, isLeftOut } from './picked-folder.ts';

test.each([
  ['server.js', false],
  ['.env', true],
  ['apps/web/.env.production', true],
  ['.env.example', false],
  ['.environment', false],
  ['.git/config', true],
  ['node_modules/left-pad/index.js', true],
  ['packages/a/node_modules/x.js', true],
  ['node_modules', false],
])('%s is left out: %s', (path, left) => expect(isLeftOut(path)).toBe(left));

test('paths start below the selected folder', () => {
  const picked = ['shop/src/b.js', 'shop/a.js', 'shop/.env'].map((path) =>
    Object.defineProperty(new File(['x'], 'x'), 'webkitRelativePath', { value: path }),
  );
  expect(filesToUpload(picked).map(({ path }) => path)).toEqual(['a.js', 'src/b.js']);
});
