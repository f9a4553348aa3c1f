// Machine for the install check: a root folder in mount, PID and network namespaces of its own. In place of systemd it has a
// systemctl that runs what the unit's ExecStart names; nothing of the unit's hardening applies.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandResult, run } from '../../tools/lib/command.ts';

/** Prepares the root $1 and stays as the first process, which collects ended ones. */
const HOLD = `set -e
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do : > "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mkdir "$root/dev/shm"; mount -t tmpfs tmpfs "$root/dev/shm"
ip link set lo up
exec perl -e '$SIG{CHLD} = "IGNORE"; $| = 1; print "ready\\n"; sleep 60 while 1'`;

const SYSTEMCTL = `#!/bin/sh
unit=/etc/systemd/system/fairlead.service
main=/run/fairlead.pid
echo "$*" >>/run/systemctl-calls
alive() { [ -e $main ] && kill -0 "$(cat $main)" 2>/dev/null; }
end() {
  alive || return 0
  kill -TERM "$(cat $main)"
  while alive; do sleep 0.1; done
}
case "$*" in
  'start fairlead.service' | 'restart fairlead.service')
    end
    log=$(sed -n 's/^StandardOutput=append://p' $unit)
    setsid $(sed -n 's/^ExecStart=//p' $unit) >>"$log" 2>&1 </dev/null &
    echo $! >$main ;;
  'stop fairlead.service') end ;;
  'is-active --quiet fairlead.service') alive ;;
  # systemd kills the group of apps and proxy.
  'kill --signal=SIGKILL fairlead-apps.service')
    for process in /proc/[0-9]*; do
      case "$(readlink "$process/exe")" in /var/lib/fairlead-control-plane/*) kill -KILL "\${process#/proc/}" ;; esac
    done ;;
esac
`;

export class Machine {
  readonly root: string;
  readonly #holder: ChildProcess;
  readonly #pid: string;

  private constructor(root: string, holder: ChildProcess, pid: string) {
    this.root = root;
    this.#holder = holder;
    this.#pid = pid;
  }

  static async boot(root: string): Promise<Machine> {
    mkdirSync(join(root, 'run/systemd/system'), { recursive: true });
    mkdirSync(join(root, 'etc/systemd/system'), { recursive: true });
    const systemctl = join(root, 'usr/local/bin/systemctl');
    writeFileSync(systemctl, SYSTEMCTL);
    chmodSync(systemctl, 0o755);
    // The check has no package archive.
    writeFileSync(join(root, 'usr/local/bin/apt-get'), '#!/bin/sh\nexit 1\n');
    chmodSync(join(root, 'usr/local/bin/apt-get'), 0o755);
    const namespaces = ['--mount', '--pid', '--net', '--fork', '--kill-child'];
    const holder = spawn('unshare', [...namespaces, 'sh', '-c', HOLD, 'sh', root], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(holder, 'exit').then(([code]) => {
      throw new Error(`the namespaces could not be made: unshare ended with ${code}`);
    });
    await Promise.race([once(holder.stdout, 'data'), ended]);
    ended.catch(() => undefined);
    const pid = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim();
    return new Machine(root, holder, pid);
  }

  /** Runs a program of the root. */
  run(command: readonly string[], input = ''): Promise<CommandResult> {
    const enter = ['--target', this.#pid, '--mount', '--pid', '--net', 'chroot', this.root];
    const clean = ['env', '-i', 'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root'];
    const words = ['nsenter', ...enter, ...clean, ...command];
    return run('sh', ['-c', 'input=$1; shift; printf "%s" "$input" | "$@"', 'sh', input, ...words]);
  }

  async must(command: readonly string[], input = ''): Promise<string> {
    const { code, output } = await this.run(command, input);
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${output.trim()}`);
    return output;
  }

  /** Runs a program of this machine in the network of the other. */
  async inNetwork(command: readonly string[]): Promise<string> {
    const { code, output, stdout } = await run('nsenter', ['--target', this.#pid, '--net', ...command]);
    if (code !== 0) throw new Error(`${command[0]} ended with ${code}: ${output.trim()}`);
    return stdout;
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  read(path: string): string {
    return this.has(path) ? readFileSync(join(this.root, path), 'utf8') : '';
  }

  async stop(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const ended = once(this.#holder, 'exit');
    this.#holder.kill('SIGKILL');
    await ended;
  }
}
