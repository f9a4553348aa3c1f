import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../lib/command.ts';
import { refreshMirror, sourceName } from './source-mirror.ts';
import { type SourceServer, serveSource } from './source-repository.ts';

let folder: string;
let server: SourceServer;
let name: string;
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
  name = sourceName(mirror());
  await refreshMirror(clone(), mirror(), name);
  server = await serveSource({ port: 0, folder: mirror(), refresh: () => refreshMirror(clone(), mirror(), name) });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const head = async () => (await git('ls-remote', server.url(name), 'refs/heads/main')).split('\t')[0];

test('a clone gets the newest commit, whatever branch this clone is on', async () => {
  const second = await commit('two');
  await git('clone', '--quiet', '--depth', '1', server.url(name), join(folder, 'copy'));
  expect(await git('-C', join(folder, 'copy'), 'rev-parse', 'HEAD')).toBe(second);
  const third = await commit('three');
  await git('-C', clone(), 'checkout', '--quiet', '--detach');
  expect(await head()).toBe(third);
});

test('nothing can be pushed, and nothing else can be read', async () => {
  await head();
  await expect(git('-C', clone(), 'push', server.url(name), 'HEAD:refs/heads/other')).rejects.toThrow('read-only');
  const base = server.url(name);
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

test('a page of a foreign host name that resolves to this machine gets nothing', async () => {
  await head();
  const path = `/${name}.git/info/refs?service=git-upload-pack`;
  const ask = async (host: string): Promise<number | undefined> => {
    const asked = request({ host: '127.0.0.1', port: server.port, path, headers: { host } });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  expect(await ask(`127.0.0.1:${server.port}`)).toBe(200);
  for (const host of ['evil.example', `evil.example:${server.port}`, `localhost:${server.port}`, '127.0.0.1'])
    expect(await ask(host), host).toBe(421);
});

test('the name cannot be guessed, stays the same, and replaces the guessable one', async () => {
  expect(name).toMatch(/^fairlead-[0-9a-f]{16}$/);
  expect((await fetch(`http://127.0.0.1:${server.port}/fairlead.git/info/refs?service=git-upload-pack`)).status).toBe(
    404,
  );
  await head();
  expect(sourceName(mirror())).toBe(name);
  const older = join(folder, 'older');
  await git('init', '--quiet', '--bare', join(older, 'fairlead.git'));
  const kept = sourceName(older);
  expect(kept).not.toBe(name);
  expect(readdirSync(older)).toEqual([`${kept}.git`]);
});
