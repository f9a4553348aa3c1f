// Root folders for the release check: Debian 11 with nothing but its base, for both processors. Those of this machine's
// processor run programs in mount and PID namespaces of their own, on this machine's network.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../tools/lib/command.ts';

const SUITE = 'bullseye';
const ARCHIVE = 'http://deb.debian.org/debian';

/** Runs its arguments in the root $1, with the devices of any container. A release is read-only there. */
const ENTER = `set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do : > "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mkdir "$root/dev/shm"; mount -t tmpfs tmpfs "$root/dev/shm"
if [ -d "$root/opt/fairlead" ]; then
  mount --bind "$root/opt/fairlead" "$root/opt/fairlead"
  mount -o remount,bind,ro "$root/opt/fairlead"
fi
exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"`;

/** Makes a root folder with these packages beside the base; `folder` caches what debootstrap fetched. */
export async function makeRoot(
  folder: string,
  architecture: 'amd64' | 'arm64',
  packages: readonly string[] = [],
): Promise<string> {
  const base = join(folder, [SUITE, architecture, ...packages].join('-'));
  if (!existsSync(base)) {
    mkdirSync(folder, { recursive: true });
    const partial = `${base}.partial`;
    rmSync(partial, { recursive: true, force: true });
    // The other processor's packages are only unpacked: qemu-user needs its libraries, not a system.
    const foreign = architecture === 'arm64' ? ['--foreign'] : [];
    const included = packages.length === 0 ? [] : [`--include=${packages.join(',')}`];
    await must('debootstrap', [
      ...foreign,
      ...included,
      `--arch=${architecture}`,
      '--variant=minbase',
      SUITE,
      partial,
      ARCHIVE,
    ]);
    renameSync(partial, base);
  }
  return base;
}

/** Copies a root folder, so that each run starts from a fresh system. */
export async function copyRoot(base: string, into: string): Promise<string> {
  await must('cp', ['--archive', base, into]);
  return into;
}

export interface InRoot {
  readonly child: ChildProcess;
  /** stdout and stderr so far. */
  output(): string;
  /** Asks the program to stop and returns its exit code. */
  stop(): Promise<number | null>;
}

export function startInRoot(root: string, command: readonly string[]): InRoot {
  const args = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', ENTER, 'sh', root, ...command];
  const child = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const collect = (text: string) => {
    output += text;
  };
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  return {
    child,
    output: () => output,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const ended = once(child, 'close');
      // unshare passes no signal on: its only child is the program.
      const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
      for (const pid of children.filter(Boolean)) process.kill(Number(pid), 'SIGTERM');
      await ended;
      return child.exitCode;
    },
  };
}

/** Runs a program to its end; throws when it fails. */
export async function runInRoot(root: string, command: readonly string[]): Promise<string> {
  const started = startInRoot(root, command);
  await once(started.child, 'close');
  if (started.child.exitCode !== 0) throw new Error(`${command.join(' ')}: ${started.output().trim()}`);
  return started.output();
}

export async function must(program: string, args: readonly string[]): Promise<string> {
  const { code, output, stdout } = await run(program, args);
  if (code !== 0) throw new Error(`${program}: ${output.trimEnd().split('\n').slice(-5).join('\n')}`);
  return stdout;
}
