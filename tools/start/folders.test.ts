import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chooseFolders, closedFolder, FolderError, layOut, openData } from './folders.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-folders-'));
  chmodSync(root, 0o755);
});
afterEach(() => rmSync(root, { recursive: true }));

test('data is in the clone if other users can traverse its parents', () => {
  expect(chooseFolders({ root, data: undefined, isRoot: true })).toMatchObject({
    data: join(root, '.fairlead'),
    insteadOf: undefined,
  });
});

test('as root in a closed folder, data goes where other users can traverse; a chosen closed folder is refused', () => {
  const clone = join(root, 'closed/clone');
  mkdirSync(clone, { recursive: true });
  chmodSync(join(root, 'closed'), 0o700);
  expect(closedFolder(clone)).toBe(join(root, 'closed'));
  const chosen = chooseFolders({ root: clone, data: undefined, isRoot: true });
  expect(chosen.insteadOf).toBe(join(root, 'closed'));
  expect(chosen.data).toMatch(/^\/var\/lib\/fairlead-[0-9a-f]{8}$/);
  expect(() => chooseFolders({ root: clone, data: join(clone, 'data'), isRoot: true })).toThrow(FolderError);
  // A single user runs everything, so no other user needs to traverse.
  expect(chooseFolders({ root: clone, data: undefined, isRoot: false }).data).toBe(join(clone, '.fairlead'));
});

test('only the owner can access secrets and logs; a folder with other contents is refused', () => {
  const folders = layOut(join(root, 'data'));
  openData(folders);
  openData(folders);
  expect(statSync(folders.secrets).mode & 0o777).toBe(0o700);
  expect(statSync(folders.logs).mode & 0o777).toBe(0o700);
  expect(statSync(folders.data).mode & 0o777).toBe(0o711);

  mkdirSync(join(root, 'photos'));
  writeFileSync(join(root, 'photos/cat.jpg'), 'miaow');
  expect(() => openData(layOut(join(root, 'photos')))).toThrow('holds something else');
});

test('an installed release has its data outside of its own folder, which an update replaces', () => {
  writeFileSync(join(root, 'release.json'), '{}');
  expect(chooseFolders({ root, data: undefined, isRoot: true }).data).toBe('/var/lib/fairlead-control-plane');
  expect(chooseFolders({ root, data: join(root, 'data'), isRoot: true }).data).toBe(join(root, 'data'));
});
