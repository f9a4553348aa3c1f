// Server for the install check: Debian with systemd in a container (systemd-nspawn), in the network of a machine. The units and
// their hardening are real; the kernel is this machine's.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandResult, run } from '../../tools/lib/command.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import type { Machine } from '../system/harness/machines.ts';

const BOOT_TIMEOUT_MS = 2 * 60_000;
/** Options on a machine whose own systemd can't know the container. */
const UNREGISTERED = ['--register=no', '--keep-unit'];

export interface ServerOptions {
  /** Folder with the system. */
  readonly root: string;
  readonly network: Machine;
  /** Content of /etc/hosts. */
  readonly hosts: string;
}

export class Server {
  readonly root: string;
  readonly #container: ChildProcess;
  readonly #init: number;

  private constructor(root: string, container: ChildProcess, init: number) {
    this.root = root;
    this.#container = container;
    this.#init = init;
  }

  static async boot({ root, network, hosts }: ServerOptions): Promise<Server> {
    writeFileSync(join(root, 'etc/hosts'), hosts);
    rmSync(join(root, 'etc/resolv.conf'), { force: true });
    const options = [
      ...['--boot', '--quiet', `--directory=${root}`, `--machine=${network.name}`, '--capability=all'],
      ...['--resolv-conf=off', '--timezone=off', '--link-journal=no', '--console=pipe'],
      `--network-namespace-path=${network.namespace}`,
      ...(existsSync('/run/systemd/system') ? [] : UNREGISTERED),
    ];
    const env = { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' };
    const container = spawn('systemd-nspawn', options, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let console = '';
    const collect = (text: string) => {
      console = (console + text).slice(-4000);
    };
    container.stdout.setEncoding('utf8').on('data', collect);
    container.stderr.setEncoding('utf8').on('data', collect);
    const init = () => {
      if (container.exitCode !== null) throw new Error(`systemd-nspawn ended:\n${console}`);
      const child = `/proc/${container.pid}/task/${container.pid}/children`;
      return Number(readFileSync(child, 'utf8').split(' ')[0]) || undefined;
    };
    const isUp = async () => {
      const pid = init();
      if (pid === undefined) return undefined;
      const server = new Server(root, container, pid);
      const { code } = await server.run(['systemctl', 'is-active', '--quiet', 'multi-user.target']);
      return code === 0 ? server : undefined;
    };
    try {
      return await waitFor(isUp, { what: `systemd in ${root}`, timeoutMs: BOOT_TIMEOUT_MS, everyMs: 250 });
    } catch (error) {
      container.kill('SIGKILL');
      throw error;
    }
  }

  /** Runs a program on the server. */
  run(command: readonly string[], input = ''): Promise<CommandResult> {
    const namespaces = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--root', '--wd'];
    const clean = ['env', '-i', 'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root'];
    const words = ['nsenter', '--target', String(this.#init), ...namespaces, ...clean, ...command];
    return run('sh', ['-c', 'input=$1; shift; printf "%s" "$input" | "$@"', 'sh', input, ...words]);
  }

  async must(command: readonly string[], input = ''): Promise<string> {
    const { code, output } = await this.run(command, input);
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${output.trim()}`);
    return output;
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  read(path: string): string {
    return this.has(path) ? readFileSync(join(this.root, path), 'utf8') : '';
  }

  /** Ends all processes at once, as a power cut does. */
  async cutPower(): Promise<void> {
    if (this.#container.exitCode !== null || this.#container.signalCode !== null) return;
    const ended = once(this.#container, 'exit');
    process.kill(this.#init, 'SIGKILL');
    await ended;
  }
}
