import { createHash } from 'node:crypto';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAgentBinaries, isAgentTarget } from './agent-binaries.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'fairlead-agents-'));
});

afterEach(async () => {
  await rm(dir, { recursive: true });
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

test('a single program is offered only to machines of its architecture', async () => {
  const path = join(dir, 'fairlead-agent');
  await writeFile(path, 'agent');
  const binaries = createAgentBinaries(path, 'x64');
  expect(await binaries.find('linux-x64')).toMatchObject({ path, sizeBytes: 5, sha256: sha256('agent') });
  expect(await binaries.find('linux-arm64')).toBeNull();
});

test('a folder offers the programs in it', async () => {
  await writeFile(join(dir, 'linux-arm64'), 'arm');
  const found = await createAgentBinaries(dir, 'x64').list();
  expect(found.map((binary) => binary.target)).toEqual(['linux-arm64']);
});

test('the version is read from the program, wherever a chunk ends', async () => {
  const path = join(dir, 'linux-arm64');
  await writeFile(path, `${'x'.repeat(2 ** 20 - 10)}fairlead-agent-version=1.2.3;${'y'.repeat(100)}`);
  expect((await createAgentBinaries(dir, 'x64').find('linux-arm64'))?.version).toBe('1.2.3');
  await writeFile(join(dir, 'linux-x64'), 'says nothing');
  expect((await createAgentBinaries(dir, 'x64').find('linux-x64'))?.version).toBe('');
});

test('a replaced program gets its own digest', async () => {
  const path = join(dir, 'linux-x64');
  await writeFile(path, 'one');
  const binaries = createAgentBinaries(dir, 'x64');
  await binaries.find('linux-x64');
  await writeFile(path, 'two');
  await utimes(path, new Date(), new Date(Date.now() + 5000));
  expect((await binaries.find('linux-x64'))?.sha256).toBe(sha256('two'));
});

test('the signature beside a program comes with it', async () => {
  await writeFile(join(dir, 'linux-x64'), 'agent');
  const binaries = createAgentBinaries(dir, 'x64');
  expect((await binaries.find('linux-x64'))?.signature).toBe('');
  await writeFile(join(dir, 'linux-x64.minisig'), 'signature');
  expect((await binaries.find('linux-x64'))?.signature).toBe('signature');
});

test('without a setting or a file nothing is offered', async () => {
  expect(await createAgentBinaries(undefined, 'x64').list()).toEqual([]);
  expect(await createAgentBinaries(join(dir, 'missing'), 'x64').list()).toEqual([]);
});

test('only known targets are accepted', () => {
  expect(isAgentTarget('linux-x64')).toBe(true);
  expect(isAgentTarget('../linux-x64')).toBe(false);
});
