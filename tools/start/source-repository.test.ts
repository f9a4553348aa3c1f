import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../lib/command.ts';
import { refreshMirror, SOURCE_NAME } from './source-mirror.ts';
import { type SourceServer, serveSource } from './source-repository.ts';

let folder: string;
let server: SourceServer;
const clone = () => join(folder, 'clone');
const mirror = () => join(folder, 'mirror');

async function git(...args: string[]): Promise<string> {
  const identity = ['-c', 'user.name=Ada Example', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false'];
  const result = await run('git', [...identity, ...args]);
  if (result.code !== 0) throw new Error(result.output);
  return result.stdout.trim();
}

async function commit(text: string): Promise<string> {
  writeFileSync(join(clone(), 'file'), text);
  await git('-C', clone(), 'add', '--all');
  await git('-C', clone(), 'commit', '--quiet', '--message', text);
  return git('-C', clone(), 'rev-parse', 'HEAD');
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-source-'));
  await git('init', '--quiet', '--initial-branch=topic', clone());
  await commit('one');
  server = await serveSource({ port: 0, folder: mirror(), refresh: () => refreshMirror(clone(), mirror()) });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const head = async () => (await git('ls-remote', server.url(SOURCE_NAME), 'refs/heads/main')).split('\t')[0];

test('a clone has the newest commit, whatever branch this clone is on', async () => {
  const second = await commit('two');
  await git('clone', '--quiet', '--depth', '1', server.url(SOURCE_NAME), join(folder, 'copy'));
  expect(await git('-C', join(folder, 'copy'), 'rev-parse', 'HEAD')).toBe(second);
  const third = await commit('three');
  await git('-C', clone(), 'checkout', '--quiet', '--detach');
  expect(await head()).toBe(third);
});

test('nothing can be pushed, and nothing else can be read', async () => {
  await head();
  await expect(git('-C', clone(), 'push', server.url(SOURCE_NAME), 'HEAD:refs/heads/other')).rejects.toThrow(
    'read-only',
  );
  const base = server.url(SOURCE_NAME);
  for (const path of [
    '/config',
    '/info/refs?service=git-receive-pack',
    '/objects/info/packs',
    '/../../etc/passwd',
    '/git-receive-pack',
  ]) {
    expect((await fetch(`${base}${path}`)).status).toBe(404);
  }
});
