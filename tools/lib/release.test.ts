import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './command.ts';
import { findRelease, nameCommands } from './release.ts';

test('a clone holds no release, and a folder with release.json does', () => {
  expect(findRelease(ROOT)).toBeUndefined();
  const root = mkdtempSync(join(tmpdir(), 'fairlead-release-'));
  const release = { version: '1.2.3', commit: 'c0ffee', target: 'linux-x64', isDevelopment: true };
  writeFileSync(join(root, 'release.json'), JSON.stringify(release));
  expect(findRelease(root)).toEqual(release);
  rmSync(root, { recursive: true });
});

test('help texts of a release name its own commands', () => {
  const text = 'Usage: npm run backup -- --to DIR, as for npm start.';
  expect(nameCommands(text, true)).toBe('Usage: fairlead backup --to DIR, as for fairlead start.');
  expect(nameCommands(text, false)).toBe(text);
});
