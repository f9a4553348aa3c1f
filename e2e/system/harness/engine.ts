// Container engine of one server under test, in that server's network and in folders of its own. Builds its base image
// from this machine's Node. Needs root.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { ROOT, run } from '../../../tools/lib/command.ts';
import { freePort } from '../../../tools/lib/free-ports.ts';
import { nodeOf } from '../../../tools/lib/install.mjs';
import { waitFor } from '../../../tools/lib/wait.ts';
import { engineProgram } from './engine-programs.ts';
import type { Files } from './repository.ts';
import type { RegistryLogin } from './system.ts';

/** Base image in `FROM` of examples/hello-dockerfile. */
const BASE = 'node:24-slim';

export interface EngineContainer {
  readonly Id: string;
  readonly ImageID: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly State: string;
}

/** Image registry in the same network. */
export interface Registry {
  /** Prefix of image names. */
  readonly host: string;
  /** User of the registry; undefined if it needs none. */
  readonly login: RegistryLogin;
  close(): Promise<void>;
}

export interface Engine {
  /** Environment variables by which an agent finds it. */
  readonly environment: Readonly<Record<string, string>>;
  containers(): Promise<readonly EngineContainer[]>;
  /** Returns /proc/PID/status of the container's first process. */
  status(id: string): Promise<string>;
  /** Returns the names of all its images. */
  images(): Promise<readonly string[]>;
  /** Creates the base image of the examples, pushes it to the mirror, and removes it here. */
  importBase(mirror: Registry): Promise<void>;
  /** Builds an image of these files on the base, pushes it, and removes it here; returns its name by digest. */
  publish(registry: Registry, name: string, files: Files): Promise<string>;
  close(): Promise<void>;
}

/** `prefix` runs a command in the server's network; `mirror` serves images of Docker Hub. */
export async function startEngine(prefix: readonly string[], mirror?: Registry): Promise<Engine> {
  // The path of a socket must be short, and the engine's mounts must not be below the folder of the system under test.
  const folder = mkdtempSync('/var/tmp/fle-');
  const socket = join(folder, 's');
  const log = join(folder, 'log');
  const engine = engineProgram(folder, socket, mirror?.host);
  const [program = '', ...args] = [...prefix, ...engine.command];
  const output = openSync(log, 'w');
  const env = { ...process.env, ...engine.environment };
  const child = spawn(program, args, { stdio: ['ignore', output, output], env });
  const ask: Ask = (method, path, body, headers) => askEngine(socket, method, path, body, headers);
  const list = async <T>(what: string) => JSON.parse(await ask('GET', `/${what}/json?all=true`)) as readonly T[];
  const containers = () => list<EngineContainer>('containers');
  const close = async () => {
    if (!engine.endsContainers && child.exitCode === null) {
      for (const { Id } of await containers()) await ask('DELETE', `/containers/${Id}?force=true&v=true`);
    }
    await end(child);
    await engine.unmount();
    rmSync(folder, { recursive: true });
  };
  try {
    const isUp = () =>
      ask('GET', '/_ping').then(
        () => true,
        () => false,
      );
    await waitFor(
      () => {
        if (child.exitCode !== null) throw new Error(`the engine ended: ${readFileSync(log, 'utf8').slice(-2000)}`);
        return isUp();
      },
      { what: 'the container engine', timeoutMs: 60_000 },
    );
  } catch (error) {
    await close();
    throw error;
  }
  return {
    environment: { DOCKER_HOST: `unix://${socket}` },
    containers,
    async status(id) {
      const { State } = JSON.parse(await ask('GET', `/containers/${id}/json`)) as { State: { Pid: number } };
      return readFileSync(`/proc/${State.Pid}/status`, 'utf8');
    },
    images: async () =>
      (await list<{ RepoTags: readonly string[] | null }>('images')).flatMap((one) => one.RepoTags ?? []),
    importBase: (to) => importBase(join(folder, 'base'), ask, to),
    publish: (registry, name, files) => publish(join(folder, 'context'), ask, { registry, name, files }),
    close,
  };
}

/** Imports Node with its libraries and the user of Node's official image. */
async function importBase(root: string, ask: Ask, mirror: Registry): Promise<void> {
  const node = nodeOf(ROOT);
  const { code, output, stdout } = await run('ldd', [node]);
  if (code !== 0) throw new Error(`ldd: ${output}`);
  const libraries = stdout.split('\n').flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
  const place = (from: string, to: string) => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
  };
  for (const library of libraries) place(library, library);
  place(node, '/usr/local/bin/node');
  mkdirSync(join(root, 'etc'), { recursive: true });
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  const tar = spawn('tar', ['-C', root, '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const [name = '', tag = ''] = BASE.split(':');
  const repository = `${mirror.host}/library/${name}`;
  const query = new URLSearchParams({ fromSrc: '-', repo: `${repository}:${tag}`, changes: `ENV PATH=${path}` });
  await ask('POST', `/images/create?${query}`, tar.stdout);
  await push(ask, mirror, repository, tag);
}

/** Pushes an image and removes it; returns its digest in the registry. */
async function push(ask: Ask, registry: Registry, repository: string, tag: string): Promise<string> {
  // The engine expects the base64url alphabet, but with padding.
  const login = Buffer.from(JSON.stringify(registry.login)).toString('base64');
  const auth = login.replaceAll('+', '-').replaceAll('/', '_');
  const pushed = await ask('POST', `/images/${repository}/push?tag=${tag}`, undefined, { 'x-registry-auth': auth });
  const digest = /digest: (sha256:[0-9a-f]{64})/.exec(pushed)?.[1];
  if (digest === undefined) throw new Error(`no digest: ${pushed}`);
  await ask('DELETE', `/images/${repository}:${tag}?force=true`);
  return digest;
}

async function publish(
  context: string,
  ask: Ask,
  { registry, name, files }: { readonly registry: Registry; readonly name: string; readonly files: Files },
): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(context, path)), { recursive: true });
    writeFileSync(join(context, path), text);
  }
  const repository = `${registry.host}/${name}`;
  const tar = spawn('tar', ['-C', context, '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  await ask('POST', `/build?${new URLSearchParams({ t: `${repository}:1` })}`, tar.stdout);
  const digest = await push(ask, registry, repository, '1');
  return `${repository}@${digest}`;
}

/**
 * Starts Debian's registry, with one user or open to all. `prefix` is the engine's, which needs no TLS on its own
 * loopback.
 */
export async function startRegistry(
  prefix: readonly string[],
  login: RegistryLogin = { username: 'crane', password: 'harbour-pass' },
): Promise<Registry> {
  const folder = mkdtempSync('/var/tmp/flr-');
  const port = await freePort();
  const host = `127.0.0.1:${port}`;
  const users = join(folder, 'users');
  // Password below as a bcrypt hash, the only format that the registry accepts.
  writeFileSync(users, 'crane:$2b$05$abcdefghijklmnopqrstuuDixDlWTLS9/r7iUsNMXg1WxDd2zrf8G\n');
  const config = {
    version: 0.1,
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(folder, 'data') }, delete: { enabled: true } },
    http: { addr: host },
    ...(login.username === '' ? {} : { auth: { htpasswd: { realm: 'test', path: users } } }),
  };
  // JSON is YAML too.
  writeFileSync(join(folder, 'config'), JSON.stringify(config));
  const [program = '', ...args] = [...prefix, '/usr/bin/docker-registry', 'serve', join(folder, 'config')];
  const log = join(folder, 'log');
  const output = openSync(log, 'w');
  const child = spawn(program, args, { stdio: ['ignore', output, output] });
  const close = async () => {
    await end(child);
    rmSync(folder, { recursive: true });
  };
  try {
    const [curl = '', ...asked] = [...prefix, 'curl', '--silent', '--output', '/dev/null', `http://${host}/v2/`];
    const isUp = async () => child.exitCode !== null || (await run(curl, asked)).code === 0;
    await waitFor(isUp, { what: 'the registry', timeoutMs: 30_000 });
    if (child.exitCode !== null) throw new Error(`docker-registry ended: ${readFileSync(log, 'utf8').slice(-2000)}`);
  } catch (error) {
    await close();
    throw error;
  }
  return { host, login, close };
}

type Ask = (
  method: string,
  path: string,
  body?: Readable,
  headers?: Readonly<Record<string, string>>,
) => Promise<string>;

function askEngine(
  socketPath: string,
  method: string,
  path: string,
  body?: Readable,
  given: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? given : { ...given, 'content-type': 'application/x-tar' };
    const asked = request({ socketPath, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        const refused = (response.statusCode ?? 500) >= 400 || text.includes('"errorDetail"');
        if (refused) reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
        else resolve(text);
      });
    });
    asked.once('error', reject);
    if (body === undefined) asked.end();
    else body.pipe(asked);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = once(child, 'exit');
  child.kill('SIGTERM');
  await closed;
}
