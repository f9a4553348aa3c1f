// Debian packages that the tests need: installs them as root, otherwise prints what to install.
import { existsSync } from 'node:fs';
import { type CommandResult, run } from '../lib/command.ts';
import type { Say } from './screen.ts';

export interface DebianProgram {
  readonly file: string;
  readonly packages: readonly string[];
}

export const BUSYBOX: DebianProgram = { file: '/bin/busybox', packages: ['busybox-static'] };
/** Headless Chromium: a fifth less work than with windows for the same pages. */
export const CHROMIUM: DebianProgram = {
  file: '/usr/bin/chromium-headless-shell',
  packages: ['chromium-headless-shell', 'fonts-liberation'],
};
export const DOCKER: DebianProgram = { file: '/usr/sbin/dockerd', packages: ['docker.io'] };
export const FIREFOX: DebianProgram = { file: '/usr/bin/firefox-esr', packages: ['firefox-esr'] };
export const GIT_LFS: DebianProgram = { file: '/usr/bin/git-lfs', packages: ['git-lfs'] };
export const GO: DebianProgram = { file: '/usr/bin/go', packages: ['golang-go'] };
export const CURL: DebianProgram = { file: '/usr/bin/curl', packages: ['curl'] };
export const HAPROXY: DebianProgram = { file: '/usr/sbin/haproxy', packages: ['haproxy'] };
export const IP: DebianProgram = { file: '/usr/sbin/ip', packages: ['iproute2'] };
export const OPENSSH: DebianProgram = { file: '/usr/bin/ssh-keygen', packages: ['openssh-client'] };
export const NGINX: DebianProgram = { file: '/usr/sbin/nginx', packages: ['nginx-light'] };
export const NFTABLES: DebianProgram = { file: '/usr/sbin/nft', packages: ['nftables'] };
export const OPENSSL: DebianProgram = { file: '/usr/bin/openssl', packages: ['openssl'] };
export const PASST: DebianProgram = { file: '/usr/bin/pasta', packages: ['passt'] };
export const PIP: DebianProgram = { file: '/usr/bin/pip3', packages: ['python3-pip'] };
export const PYTHON: DebianProgram = { file: '/usr/bin/python3', packages: ['python3'] };
export const PUMA: DebianProgram = { file: '/usr/bin/puma', packages: ['puma'] };
export const REGISTRY: DebianProgram = { file: '/usr/bin/docker-registry', packages: ['docker-registry'] };
export const UVICORN: DebianProgram = { file: '/usr/bin/uvicorn', packages: ['uvicorn'] };
export const VALGRIND: DebianProgram = { file: '/usr/bin/valgrind', packages: ['valgrind'] };

/** Runs one at a time: stages are concurrent, and `apt-get update` fails while another one runs. */
function aptGet(args: readonly string[]): Promise<CommandResult> {
  // RUNLEVEL=1 keeps Debian from starting the services it installs.
  const env = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  return run('flock', ['/var/lib/dpkg', 'apt-get', ...args], { env });
}

/** Installs missing programs; returns a line for the user if that fails. */
export async function requirePrograms(
  programs: readonly DebianProgram[],
  say: Say = (text) => process.stdout.write(text),
): Promise<string | undefined> {
  const missing = programs.filter((program) => !existsSync(program.file));
  if (missing.length === 0) return undefined;
  const packages = missing.flatMap((program) => program.packages);
  const command = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    return `${missing.map((program) => program.file).join(' and ')} missing: run as root: ${command}`;
  }
  say(`installing ${packages.join(', ')}\n`);
  const update = await aptGet(['update', '-q']);
  const install = await aptGet(['install', '-y', '-q', '--no-install-recommends', ...packages]);
  const stillMissing = missing.filter((program) => !existsSync(program.file));
  if (install.code === 0 && stillMissing.length === 0) return undefined;
  const tail = `${update.code === 0 ? '' : update.output}${install.output}`.trimEnd().split('\n').slice(-5).join('\n');
  return `${command} failed:\n${tail}`;
}
