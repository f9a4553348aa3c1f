import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newRecoveryKey, pack, unpack } from './archive.ts';

let root: string;
let file: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-archive-'));
  file = join(root, 'all.age');
  mkdirSync(join(root, 'from/keys'), { recursive: true });
  mkdirSync(join(root, 'to'));
  writeFileSync(join(root, 'from/keys/one'), 'a secret key', { mode: 0o600 });
  writeFileSync(join(root, 'from/keys/large'), Buffer.alloc(3_000_000, 7), { mode: 0o600 });
});
afterEach(() => rmSync(root, { recursive: true }));

test('packed files come back with their modes, and the archive is unreadable without the key', async () => {
  const { identity, recipient } = await newRecoveryKey();
  await pack(join(root, 'from'), ['keys'], file, recipient);
  expect(readFileSync(file).includes('a secret key')).toBe(false);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await unpack(file, join(root, 'to'), ['keys'], `${identity}\n`);
  expect(readFileSync(join(root, 'to/keys/one'), 'utf8')).toBe('a secret key');
  expect(readFileSync(join(root, 'to/keys/large'))).toEqual(Buffer.alloc(3_000_000, 7));
  expect(statSync(join(root, 'to/keys/one')).mode & 0o777).toBe(0o600);
});

test('another key, half a file or a changed byte is an error that leaves no partial file', async () => {
  const { identity, recipient } = await newRecoveryKey();
  const other = await newRecoveryKey();
  await pack(join(root, 'from'), ['keys'], file, recipient);
  const to = join(root, 'to');
  await expect(unpack(file, to, ['keys'], other.identity)).rejects.toThrow('could not be opened');
  await expect(unpack(file, to, ['keys'], 'no key')).rejects.toThrow('AGE-SECRET-KEY-1');
  const whole = readFileSync(file);
  writeFileSync(file, whole.subarray(0, whole.length - 50));
  await expect(unpack(file, to, ['keys'], identity)).rejects.toThrow('could not be opened');
  const changed = Buffer.from(whole);
  changed[whole.length - 30] = (changed[whole.length - 30] ?? 0) ^ 1;
  writeFileSync(file, changed);
  await expect(unpack(file, to, ['keys'], identity)).rejects.toThrow('could not be opened');
  await expect(pack(join(root, 'from'), ['missing'], join(root, 'none.age'), recipient)).rejects.toThrow(/ENOENT/);
  expect(readdirSync(root).sort()).toEqual(['all.age', 'from', 'to']);
});

test('an entry may be a folder below another, and its neighbours are refused', async () => {
  const { identity, recipient } = await newRecoveryKey();
  const [from, to] = [join(root, 'from'), join(root, 'to')];
  mkdirSync(join(from, 'agent/ca/host'), { recursive: true });
  writeFileSync(join(from, 'agent/ca/host/ca.key'), 'a key', { mode: 0o600 });
  await pack(from, ['keys', 'agent/ca'], file, recipient);
  await unpack(file, to, ['keys', 'agent/ca'], identity);
  expect(readFileSync(join(to, 'agent/ca/host/ca.key'), 'utf8')).toBe('a key');
  mkdirSync(join(from, 'agent/cats'));
  await pack(from, ['agent/cats'], file, recipient);
  await expect(unpack(file, to, ['agent/ca'], identity)).rejects.toThrow('holds agent/cats');
});

test('an archive with anything else in it is refused, and nothing of it is written', async () => {
  const { identity, recipient } = await newRecoveryKey();
  const to = join(root, 'to');
  mkdirSync(join(root, 'from/agent'));
  writeFileSync(join(root, 'from/agent/key'), 'forged');
  await pack(join(root, 'from'), ['keys', 'agent'], file, recipient);
  await expect(unpack(file, to, ['keys'], identity)).rejects.toThrow('holds agent');
  expect(readdirSync(to)).toEqual(['keys']);
  symlinkSync('/etc', join(root, 'from/keys/link'));
  await pack(join(root, 'from'), ['keys'], file, recipient);
  await expect(unpack(file, to, ['keys'], identity)).rejects.toThrow('holds keys/link');
  expect(readdirSync(join(to, 'keys')).sort()).toEqual(['large', 'one']);
});
