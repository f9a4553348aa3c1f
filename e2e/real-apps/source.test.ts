import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourceOf } from './source.ts';

test('without a folder of mirrors, GitHub is the source', () => {
  expect(sourceOf('owner/name', undefined)).toBe('https://github.com/owner/name.git');
});

test.each(['owner/name.git', 'owner/name', 'owner+name.git', 'owner+name', 'owner+name/bare'])(
  'a mirror at %s is found',
  (path) => {
    const folder = mkdtempSync(join(tmpdir(), 'mirrors-'));
    try {
      mkdirSync(join(folder, path, 'objects'), { recursive: true });
      writeFileSync(join(folder, path, 'HEAD'), 'ref: refs/heads/main\n');
      expect(sourceOf('owner/name', folder)).toBe(`file://${join(folder, path)}`);
      expect(() => sourceOf('owner/other', folder)).toThrow(/has no mirror of owner\/other/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
