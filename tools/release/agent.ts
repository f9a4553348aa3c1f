// Builds the agent of a release with zig as linker, so that it starts with an old glibc on either processor. The
// linker comes from PyPI into the build's own folder; the standard library from rustup.
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ROOT, run } from '../lib/command.ts';
import { hashInputs, isCurrent, markCurrent } from '../lib/inputs-hash.ts';
import { requireOldGlibc } from './elf.ts';
import { ReleaseFailed, type Target } from './targets.ts';

const AGENTS = join(ROOT, 'agents');
const TOOLS = join(AGENTS, 'target/release-tools');
const REQUIREMENTS = 'tools/release/requirements.txt';
/** Oldest glibc that Node of the control plane starts with, too. */
const GLIBC_LINKED = '2.28';

export interface AgentInput {
  readonly target: Target;
  /** Path of the program. */
  readonly file: string;
  /** Keys that the agent accepts upgrades of, as minisign writes them. */
  readonly publicKeys: readonly string[];
}

export async function buildReleaseAgent(input: AgentInput, detail: (text: string) => void): Promise<void> {
  const { target, file, publicKeys } = input;
  await installLinker();
  await installStandardLibrary(target);
  const args = ['--release', '--locked', '--package', 'fairlead-agent', '--bin', 'fairlead-agent'];
  let compiled = 0;
  const result = await run('cargo-zigbuild', ['zigbuild', ...args, '--target', `${target.rust}.${GLIBC_LINKED}`], {
    cwd: AGENTS,
    env: {
      PATH: `${join(TOOLS, 'bin')}:${process.env.PATH ?? ''}`,
      CARGO_TARGET_DIR: join(AGENTS, 'target'),
      CARGO_ZIGBUILD_ZIG_PATH: join(TOOLS, 'ziglang/zig'),
      CARGO_ZIGBUILD_CACHE_DIR: join(TOOLS, 'cache'),
      FAIRLEAD_RELEASE_KEYS: publicKeys.join(','),
      // The same program from any folder, without the builder's paths in its panics.
      CARGO_ENCODED_RUSTFLAGS: [
        `--remap-path-prefix=${process.env.CARGO_HOME ?? join(homedir(), '.cargo')}=/cargo`,
        `--remap-path-prefix=${AGENTS}=/agents`,
      ].join('\x1f'),
    },
    onOutput(chunk) {
      const started = [...chunk.matchAll(/^\s*Compiling (\S+)/gm)];
      compiled += started.length;
      const name = started.at(-1)?.[1];
      if (name !== undefined) detail(`${compiled} crates, now ${name}`);
    },
  });
  requireSuccess(result, `the agent for ${target.name} could not be built`);
  copyFileSync(join(AGENTS, 'target', target.rust, 'release/fairlead-agent'), file);
  chmodSync(file, 0o755);
  // Without its keys an agent would accept what no release key has signed.
  if (!readFileSync(file).includes(publicKeys.join(',')))
    throw new ReleaseFailed(`${file} does not hold the keys of the release`);
  const { newest } = await requireOldGlibc(file, target);
  detail(`needs glibc ${newest}`);
}

async function installLinker(): Promise<void> {
  const hash = hashInputs(ROOT, [REQUIREMENTS]);
  const mark = join(TOOLS, '.inputs');
  if (isCurrent(mark, hash)) return;
  rmSync(TOOLS, { recursive: true, force: true });
  const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes'];
  const result = await run('python3', [...args, '--target', TOOLS, '--requirement', join(ROOT, REQUIREMENTS)]);
  requireSuccess(result, 'pip could not install zig (it needs python3 and pip)');
  markCurrent(mark, hash);
}

async function installStandardLibrary(target: Target): Promise<void> {
  const { stdout } = await run('rustc', ['--print', 'target-libdir', '--target', target.rust], { cwd: AGENTS });
  if (existsSync(stdout.trim())) return;
  const result = await run('rustup', ['target', 'add', target.rust], { cwd: AGENTS });
  requireSuccess(result, `Rust's standard library for ${target.rust} could not be installed`);
}

function requireSuccess({ code, output }: { code: number; output: string }, what: string): void {
  if (code !== 0) throw new ReleaseFailed(`${what}:\n${output.trimEnd().split('\n').slice(-25).join('\n')}`);
}
