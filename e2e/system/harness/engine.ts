// A real container engine for one server under test: Debian's Docker, in that server's network, on folders of its own, with
// the one image that the examples begin with, made of this machine's Node since no registry is in reach. Needs root.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { ROOT, run } from '../../../tools/lib/command.ts';
import { nodeOf } from '../../../tools/lib/install.mjs';
import { waitFor } from '../../../tools/lib/wait.ts';

const DOCKERD = '/usr/sbin/dockerd';
/** What `FROM` of examples/hello-dockerfile names. */
const BASE = { repository: 'node', tag: '24-slim' } as const;

export interface EngineContainer {
  readonly Id: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly State: string;
}

export interface Engine {
  /** What an agent finds it by. */
  readonly environment: Readonly<Record<string, string>>;
  containers(): Promise<readonly EngineContainer[]>;
  /** What `docker inspect` shows of one. */
  inspect(id: string): Promise<unknown>;
  close(): Promise<void>;
}

/** `prefix` is what a command begins with to run in the server's network. */
export async function startEngine(prefix: readonly string[]): Promise<Engine> {
  // A socket's path is short, and what the engine mounts must not lie below the folder of the system under test.
  const folder = mkdtempSync('/var/tmp/fle-');
  const socket = join(folder, 's');
  const log = join(folder, 'log');
  const [program = '', ...args] = [
    ...prefix,
    DOCKERD,
    ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
    ...['--host', `unix://${socket}`, '--exec-opt', 'native.cgroupdriver=cgroupfs', '--storage-driver', 'overlay2'],
    ...['--default-ulimit', 'nofile=16384:16384'],
  ];
  const output = openSync(log, 'w');
  const child = spawn(program, args, { stdio: ['ignore', output, output] });
  const ask = (method: string, path: string, body?: Readable) => askEngine(socket, method, path, body);
  const close = async () => {
    await end(child);
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
        if (child.exitCode !== null) throw new Error(`dockerd ended: ${readFileSync(log, 'utf8').slice(-2000)}`);
        return isUp();
      },
      { what: 'the container engine', timeoutMs: 60_000 },
    );
    await importBase(join(folder, 'base'), ask);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    environment: { DOCKER_HOST: `unix://${socket}` },
    containers: async () => JSON.parse(await ask('GET', '/containers/json?all=true')) as EngineContainer[],
    inspect: async (id) => JSON.parse(await ask('GET', `/containers/${id}/json`)) as unknown,
    close,
  };
}

/** Node with the libraries it needs and the user that Node's own image has. */
async function importBase(
  root: string,
  ask: (method: string, path: string, body?: Readable) => Promise<string>,
): Promise<void> {
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
  const { repository, tag } = BASE;
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const query = new URLSearchParams({ fromSrc: '-', repo: repository, tag, changes: `ENV PATH=${path}` });
  await ask('POST', `/images/create?${query}`, tar.stdout);
}

function askEngine(socketPath: string, method: string, path: string, body?: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/x-tar' };
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
