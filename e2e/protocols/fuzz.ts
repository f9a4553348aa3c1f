// Fuzz targets of agents/fuzz, built with coverage instrumentation for the stable toolchain. Runs each for a while from
// its committed corpus, two at a time, and prints the path of any finding.
import { globSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT, run } from '../../tools/lib/command.ts';
import { cacheFolder, targetFolder } from './folders.ts';
import type { SuiteResult } from './result.ts';

const FOLDER = join(ROOT, 'agents/fuzz');
const RUN_AT_ONCE = 2;
/** Flags of cargo-fuzz for rustc without the sanitizer: nothing in these crates is unsafe. */
const FLAGS = [
  '--cfg=fuzzing',
  '-Cpasses=sancov-module',
  '-Cllvm-args=-sanitizer-coverage-level=4',
  '-Cllvm-args=-sanitizer-coverage-inline-8bit-counters',
  '-Cllvm-args=-sanitizer-coverage-pc-table',
  '-Cllvm-args=-sanitizer-coverage-trace-compares',
];

export function fuzzTargets(): string[] {
  return globSync('targets/*.rs', { cwd: FOLDER })
    .map((file) => basename(file, '.rs'))
    .sort();
}

async function build(): Promise<{ readonly folder: string } | { readonly output: string }> {
  const host = /^host: (\S+)$/m.exec((await run('rustc', ['-vV'])).stdout)?.[1] ?? '';
  const target = join(targetFolder(), 'fuzz');
  const args = ['build', '--release', '--locked', '--quiet', '--manifest-path', join(FOLDER, 'Cargo.toml')];
  // An explicit target keeps the flags from build scripts, which have no fuzzer to link with.
  const built = await run('cargo', [...args, '--target', host, '--target-dir', target], {
    env: { CARGO_ENCODED_RUSTFLAGS: FLAGS.join('\x1f') },
  });
  return built.code === 0 ? { folder: join(target, host, 'release') } : { output: built.output };
}

export async function runFuzz(secondsEach: number): Promise<SuiteResult> {
  const suite = 'fuzz';
  const targets = fuzzTargets();
  const built = await build();
  if ('output' in built) return { suite, cases: [{ name: 'fuzz/builds', passed: false }], output: built.output };
  const found = cacheFolder('fuzz');
  let output = '';
  const fuzz = async (target: string) => {
    // Discards what a run has learnt: each run begins from the same seeds.
    const learnt = join(found, target);
    rmSync(learnt, { recursive: true, force: true });
    mkdirSync(learnt);
    const limits = [`-max_total_time=${secondsEach}`, '-timeout=10', '-rss_limit_mb=1024', '-max_len=4096'];
    const args = [learnt, join(FOLDER, 'corpus', target), `-dict=${join(FOLDER, 'http.dict')}`, ...limits];
    const result = await run(join(built.folder, target), [...args, `-artifact_prefix=${learnt}-`]);
    if (result.code !== 0) output += result.output;
    return { name: `fuzz/${target}`, passed: result.code === 0 };
  };
  const queue = [...targets];
  const worker = async () => {
    const done = [];
    for (let target = queue.shift(); target !== undefined; target = queue.shift()) done.push(await fuzz(target));
    return done;
  };
  const cases = (await Promise.all(Array.from({ length: RUN_AT_ONCE }, worker))).flat();
  return { suite, cases, output };
}
