// Virtual machine for the server check: Debian with systemd and cgroup v2 in qemu, without KVM so that it runs
// anywhere. Its only access is SSH on a loopback port; a tunnel that can be cut forwards loopback ports of this
// machine.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type CommandResult, ROOT, run } from '../../tools/lib/command.ts';
import { freePort } from '../../tools/lib/free-ports.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { waitFor } from '../../tools/lib/wait.ts';

export interface Guest {
  /** Port on this machine that forwards to 443 of the guest. */
  readonly httpsPort: number;
  /** Runs a script as root; throws when it fails. */
  sh(script: string, environment?: Readonly<Record<string, string>>): Promise<string>;
  /** Forwards these ports of the guest's loopback to this machine's. */
  connect(ports: readonly number[]): Promise<void>;
  disconnect(): Promise<void>;
  /** Reboots the guest; resolves when SSH responds again. */
  reboot(): Promise<void>;
  stop(): Promise<void>;
}

const QEMU = '/usr/bin/qemu-system-x86_64';
const PACKAGES = [
  'systemd',
  'systemd-sysv',
  'udev',
  'iproute2',
  'openssh-server',
  'dbus',
  'kmod',
  'curl',
  'ca-certificates',
  'git',
  'zstd',
  'linux-image-cloud-amd64',
  'initramfs-tools',
];
const ARCHIVE = 'http://deb.debian.org/debian';
const DISK = '4G';
const MEMORY_MB = 1536;
const BOOT_TIMEOUT_MS = 10 * 60_000;

/** `folder` caches debootstrap's result; each guest starts from a disk of its own. */
export async function startGuest(folder: string, note: (line: string) => void): Promise<Guest> {
  mkdirSync(folder, { recursive: true });
  const root = await makeRoot(folder, note);
  const key = join(folder, 'key');
  if (!existsSync(key)) await must('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  prepare(root, readFileSync(`${key}.pub`, 'utf8'));
  const disk = join(folder, 'disk.img');
  rmSync(disk, { force: true });
  note('making the disk');
  await must('mkfs.ext4', ['-q', '-d', root, disk, DISK]);

  const [sshPort, httpsPort] = [await freePort(), await freePort()];
  const forwards = [`hostfwd=tcp:127.0.0.1:${sshPort}-:22`, `hostfwd=tcp:127.0.0.1:${httpsPort}-:443`].join(',');
  const boot = (name: string) => {
    const [found] = globSync(`boot/${name}-*`, { cwd: root });
    if (found === undefined) throw new Error(`the guest has no ${name}`);
    return join(root, found);
  };
  const machine = spawn(
    QEMU,
    [
      ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', String(MEMORY_MB), '-nographic'],
      ...['-kernel', boot('vmlinuz'), '-initrd', boot('initrd.img')],
      ...['-append', 'root=/dev/vda rw console=ttyS0 quiet edd=off'],
      ...['-drive', `file=${disk},format=raw,if=virtio,cache=unsafe`],
      ...['-nic', `user,model=virtio-net-pci,${forwards}`],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let console = '';
  const collect = (text: string) => {
    console = (console + text).slice(-4000);
  };
  machine.stdout.setEncoding('utf8').on('data', collect);
  machine.stderr.setEncoding('utf8').on('data', collect);

  const ssh = [
    ...['-i', key, '-p', String(sshPort), '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no'],
    ...['-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR', '-o', 'ConnectTimeout=60'],
  ];
  let tunnel: ChildProcess | undefined;
  const attempt = (script: string) => runWith('ssh', [...ssh, 'root@127.0.0.1', 'sh', '-eu', '-s'], script);
  const bootId = async () => {
    const { code, stdout } = await attempt('cat /proc/sys/kernel/random/boot_id');
    return code === 0 ? stdout.trim() : undefined;
  };
  const up = (before?: string) =>
    waitFor(
      async () => {
        if (machine.exitCode !== null) throw new Error(`qemu ended:\n${console}`);
        const id = await bootId();
        return id !== undefined && id !== before;
      },
      { what: 'SSH in the guest', timeoutMs: BOOT_TIMEOUT_MS, everyMs: 1000 },
    );
  const disconnect = async () => {
    if (tunnel === undefined || tunnel.exitCode !== null || tunnel.signalCode !== null) return;
    const ended = once(tunnel, 'exit');
    tunnel.kill();
    await ended;
  };
  const stop = async () => {
    await disconnect();
    if (machine.exitCode !== null || machine.signalCode !== null) return;
    const ended = once(machine, 'exit');
    machine.kill();
    await ended;
  };
  try {
    await up();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    httpsPort,
    async sh(script, environment = {}) {
      // Passes values by standard input: an argument would show in the guest's process list.
      const assignments = Object.entries(environment).map(([name, value]) => `export ${name}='${quoted(value)}'\n`);
      const { code, output, stdout } = await attempt(assignments.join('') + script);
      if (code !== 0) throw new Error(`in the guest:\n${output}`);
      return stdout;
    },
    async connect(ports) {
      const remote = ports.flatMap((port) => ['-R', `127.0.0.1:${port}:127.0.0.1:${port}`]);
      const options = ['-N', '-o', 'ExitOnForwardFailure=yes', '-o', 'ServerAliveInterval=15'];
      tunnel = spawn('ssh', [...ssh, ...options, ...remote, 'root@127.0.0.1'], { stdio: 'ignore' });
      await once(tunnel, 'spawn');
    },
    disconnect,
    async reboot() {
      const before = await bootId();
      // The reboot ends the connection, so its exit code means nothing.
      await attempt('systemctl reboot');
      await up(before);
    },
    stop,
  };
}

async function makeRoot(folder: string, note: (line: string) => void): Promise<string> {
  const root = join(folder, 'root');
  if (existsSync(root)) return root;
  const partial = join(folder, 'root.partial');
  rmSync(partial, { recursive: true, force: true });
  note('debootstrap: a Debian 12 (some minutes, once)');
  await must('debootstrap', ['--variant=minbase', `--include=${PACKAGES.join(',')}`, 'bookworm', partial, ARCHIVE]);
  renameSync(partial, root);
  return root;
}

function prepare(root: string, publicKey: string): void {
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text, { mode });
  };
  write('root/.ssh/authorized_keys', publicKey, 0o600);
  write('etc/hostname', 'guest\n');
  write('etc/fstab', '/dev/vda / ext4 rw,relatime 0 1\n');
  write('etc/systemd/network/20-wired.network', '[Match]\nType=ether\n\n[Network]\nDHCP=yes\n');
  write('etc/systemd/system-preset/10-guest.preset', 'enable systemd-networkd.service\nenable ssh.service\n');
  write('etc/machine-id', 'uninitialized\n');
  const node = join(root, 'usr/local/bin/node');
  if (!existsSync(node)) copyFileSync(nodeOf(ROOT), node);
}

function quoted(value: string): string {
  if (/['\n\r\0]/.test(value)) throw new Error('a value for the guest holds a quote or a line break');
  return value;
}

async function must(program: string, args: readonly string[]): Promise<void> {
  const { code, output } = await run(program, args);
  if (code !== 0) throw new Error(`${program}: ${output.trimEnd().split('\n').slice(-5).join('\n')}`);
}

function runWith(
  program: string,
  args: readonly string[],
  input: string,
): Promise<Pick<CommandResult, 'code' | 'output' | 'stdout'>> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let [stdout, output] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output, stdout }));
    // The exit code reports a connection that breaks first.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
