import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogLine } from '@fairlead/contract/live';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { decodeLogLines, encodeLogLines } from './codec.ts';
import { createFolderLogStore, type LogStore } from './store.ts';

let dir: string;
let store: LogStore;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'fairlead-logs-'));
  store = createFolderLogStore(dir);
});
afterEach(() => rm(dir, { recursive: true }));

test('an object is read as it was written, may be replaced, and is gone after its deletion', async () => {
  const key = 'org_1/dep_1/0000000000-srv_1-7.json.zst';
  expect(await store.get(key)).toBeNull();
  await store.put(key, Uint8Array.of(1, 2, 3));
  await store.put(key, Uint8Array.of(4, 5));
  expect(await store.get(key)).toEqual(Uint8Array.of(4, 5));
  expect(await readdir(join(dir, 'org_1/dep_1'))).toEqual(['0000000000-srv_1-7.json.zst']);
  expect((await stat(join(dir, key))).mode & 0o777).toBe(0o600);
  await store.delete(key);
  await store.delete(key);
  expect(await store.get(key)).toBeNull();
});

test('a key that could leave the folder is refused', async () => {
  for (const key of ['', '../x', 'a/../../x', '/etc/passwd', 'a//b', 'a/.', 'a\0b', 'a\\b', '.hidden']) {
    await expect(store.put(key, new Uint8Array()), key).rejects.toThrow('not a key of the log store');
    await expect(store.get(key), key).rejects.toThrow('not a key of the log store');
  }
});

test('lines survive their compression, whatever they say', async () => {
  const lines: LogLine[] = [
    { unixMs: 1, step: 'build', stream: 'stdout', text: '' },
    { unixMs: 2, step: 'build', stream: 'stderr', text: '\u001b[31mfehlt\u001b[0m 🚢 "quoted" \\' },
  ];
  expect(await decodeLogLines(await encodeLogLines(lines))).toEqual(lines);
});

test('a damaged object is an error, not an empty log', async () => {
  const bytes = await encodeLogLines([{ unixMs: 1, step: 'build', stream: 'stdout', text: 'x'.repeat(500) }]);
  await expect(decodeLogLines(bytes.subarray(0, -4))).rejects.toThrow();
  await expect(decodeLogLines(Uint8Array.of(1, 2, 3))).rejects.toThrow();
});
