// `npm run verify`: all checks that need no running system, in two lanes (Node, Rust); the first is a stage of `npm
// test`. There are no warnings: a check passes or fails, and a failed one prints its output.
import { ROOT, run } from './lib/command.ts';
import { generateClient } from './start/builds.ts';
import { add, type Outcome } from './test/outcome.ts';
import type { Say } from './test/screen.ts';

interface Check {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
}

const script = (name: string): Pick<Check, 'command' | 'args'> => ({
  command: 'node',
  args: [`tools/verify/${name}.ts`],
});

const CARGO = ['--manifest-path', 'agents/Cargo.toml'];
const NODE_LANE: readonly Check[] = [
  { name: 'format and lint', command: 'biome', args: ['check', '--error-on-warnings', '--max-diagnostics=50'] },
  { name: 'imports', ...script('imports') },
  { name: 'lock file', ...script('lockfile') },
  { name: 'licences and sources', ...script('licences') },
  { name: 'generated code', ...script('generated') },
  { name: 'documents', ...script('docs') },
  { name: 'pictures', ...script('pictures') },
  { name: 'comments', ...script('comments') },
  { name: 'glossary', ...script('glossary') },
  // One program for the tools and all packages without a browser: each alone would read those below it again.
  { name: 'types', command: 'tsc', args: ['--noEmit', '-p', '.'] },
  // `--only`: turbo would generate Prisma's client again, below a web app that is being built.
  { name: 'types with a browser', command: 'turbo', args: ['run', 'typecheck', '--only', '--output-logs=errors-only'] },
  { name: 'crate layers', ...script('crates') },
  { name: 'names of Rust types', ...script('rust-types') },
  { name: 'cargo fmt', command: 'cargo', args: ['fmt', ...CARGO, '--all', '--', '--check', '-l'] },
  { name: 'dead code', command: 'knip', args: ['--no-progress'] },
  { name: 'tests of the tools', command: 'vitest', args: ['run'], cwd: 'tools' },
];

const OUTPUT_LINES_MAX = 120;
/** Checks that `npm test` doesn't need: it compiles the crates through clippy, and runs the fuzz targets. */
const RUST_LANE: readonly Check[] = [
  {
    name: 'clippy',
    command: 'cargo',
    args: ['clippy', ...CARGO, '--locked', '--workspace', '--all-targets', '--quiet', '--', '-D', 'warnings'],
  },
  {
    name: 'fuzz targets compile',
    command: 'cargo',
    args: [
      'check',
      '--manifest-path',
      'agents/fuzz/Cargo.toml',
      '--locked',
      '--quiet',
      '--target-dir',
      'agents/target/fuzz',
    ],
  },
];

/** Runs all checks that compile no crate. */
export async function verify(say: Say): Promise<Outcome> {
  // Types, imports and dead-code checks need Prisma's client, which is not committed.
  await generateClient(() => undefined);
  return count(await runLane(NODE_LANE, say));
}

function count(results: readonly boolean[]): Outcome {
  return { passed: results.filter(Boolean).length, failed: results.filter((ok) => !ok).length };
}

async function runLane(checks: readonly Check[], say: Say): Promise<boolean[]> {
  const results: boolean[] = [];
  for (const check of checks) results.push(await runCheck(check, say));
  return results;
}

async function runCheck(check: Check, say: Say): Promise<boolean> {
  const result = await run(check.command, check.args, check.cwd === undefined ? {} : { cwd: `${ROOT}/${check.cwd}` });
  const seconds = (result.elapsedMs / 1000).toFixed(1).padStart(6);
  say(`${result.code === 0 ? '  ok  ' : ' FAIL '} ${seconds} s  ${check.name}\n`);
  if (result.code !== 0) say(`${indent(result.output)}\n`);
  return result.code === 0;
}

function indent(output: string): string {
  const lines = output.trimEnd().split('\n');
  const shown = lines.slice(0, OUTPUT_LINES_MAX).map((line) => `        ${line}`);
  if (lines.length > shown.length) shown.push(`        … and ${lines.length - shown.length} lines more`);
  return shown.join('\n');
}

if (import.meta.main) {
  const say = (text: string) => process.stdout.write(text);
  const [node, rust] = await Promise.all([verify(say), runLane(RUST_LANE, say)]);
  const { passed, failed } = add(node, count(rust));
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0) process.exit(1);
}
