// Git repository that one machine of a test serves itself, because only loopback may be plain HTTP.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from '../../../tools/lib/command.ts';
import { freePort } from '../../../tools/lib/free-ports.ts';
import { nodeOf } from '../../../tools/lib/install.mjs';
import type { Undo } from '../../../tools/lib/undo.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import type { Machine } from './machines.ts';
import { type Repositories, type Repository, serveRepositories } from './repository.ts';

export interface MachineRepositoryOptions {
  readonly machine: Machine;
  readonly folder: string;
  readonly port: number;
  readonly create: (repositories: Repositories) => Promise<Repository>;
}

/** Creates a repository and serves it on the machine's loopback; returns its URL there. */
export async function serveOnMachine(options: MachineRepositoryOptions, undo: Undo[]): Promise<string> {
  const { machine, folder, port, create } = options;
  const repositories = await serveRepositories(folder, await freePort());
  undo.push(() => repositories.close());
  const url = new URL((await create(repositories)).url);
  url.port = String(port);
  const [program = '', ...args] = [
    ...machine.prefix,
    nodeOf(ROOT),
    '--input-type=module',
    '--eval',
    `import { serveSource } from '${join(ROOT, 'tools/start/source-repository.ts')}';
     await serveSource({ port: ${port}, folder: '${join(folder, 'served')}' });`,
  ];
  const server = spawn(program, args, { stdio: 'ignore' });
  await once(server, 'spawn');
  undo.push(async () => {
    const exited = once(server, 'exit');
    server.kill('SIGTERM');
    await exited;
  });
  const refs = ['curl', '--silent', '--fail', `${url.href}/info/refs?service=git-upload-pack`];
  await waitFor(async () => (await machine.run(refs)).code === 0, { what: 'the repository', timeoutMs: 10_000 });
  return url.href;
}
