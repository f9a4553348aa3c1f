// Rust suites: the crate `fairlead-protocols`, the proxy's own tests, and the property tests of its pure parts.
import { join } from 'node:path';
import { type CommandResult, run } from '../../tools/lib/command.ts';
import { likeTests } from '../../tools/lib/install.mjs';
import { targetFolder } from './folders.ts';
import type { Case, SuiteResult } from './result.ts';

const MANIFEST = ['--manifest-path', 'agents/Cargo.toml', '--locked'];
const LINE = /^test (\S+)(?: - should panic)? +\.\.\. (ok|FAILED|ignored)/gm;

/** Counts a skipped test as failed, because none may be skipped. */
function casesOf(suite: (name: string) => string, output: string): Case[] {
  return [...output.matchAll(LINE)].map(([, name = '', outcome]) => ({ name: suite(name), passed: outcome === 'ok' }));
}

/** A runner that fails without a failed case counts as a failed case itself. */
function withExit(suite: string, result: CommandResult, cases: Case[]): SuiteResult {
  const unexplained = result.code !== 0 && cases.every(({ passed }) => passed);
  const ran = cases.length > 0 && !unexplained;
  return {
    suite,
    cases: ran ? cases : [...cases, { name: `${suite}/runs-to-its-end`, passed: false }],
    output: result.output,
  };
}

/** Builds `fairlead-protocols`; returns the path of its binary. */
export async function buildProtocols(): Promise<string> {
  const built = await run('cargo', ['build', ...MANIFEST, '--quiet', ...likeTests('--bin', 'fairlead-protocols')]);
  if (built.code !== 0) throw new Error(`fairlead-protocols does not build:\n${built.output}`);
  return join(targetFolder(), 'debug/fairlead-protocols');
}

/** The suites of `fairlead-protocols`, each by the first part of its cases' names. */
export async function runOwnSuites(program: string, long: boolean): Promise<SuiteResult[]> {
  const env = { RUST_BACKTRACE: '0', ...(long ? { FAIRLEAD_PROTOCOLS_LONG: '1' } : {}) };
  const result = await run(program, [], { env });
  const cases = casesOf((name) => name, result.stdout);
  const results = bySuite(cases, result.output);
  return results.length > 0 ? results : [withExit('protocols', result, cases)];
}

/** Groups cases by the first part of their names. */
function bySuite(cases: readonly Case[], output: string): SuiteResult[] {
  return [...Map.groupBy(cases, ({ name }) => name.split('/')[0] ?? name)].map(([suite, own]) => ({
    suite,
    cases: own,
    output,
  }));
}

export async function listOwnCases(program: string): Promise<string[]> {
  const { stdout } = await run(program, ['--list']);
  return [...stdout.matchAll(/^(\S+): test$/gm)].map(([, name = '']) => name);
}

/** Runs the proxy's integration tests, a suite for each module; `npm test` runs them in its stage `rust`. */
export async function runProxyTests(): Promise<SuiteResult[]> {
  const args = ['test', ...MANIFEST, '--workspace', '--test', 'proxy'];
  const result = await run('cargo', args, { env: { RUST_BACKTRACE: '0' } });
  const whole = withExit(
    'proxy',
    result,
    casesOf((name) => name.replaceAll('::', '/'), result.stdout),
  );
  return bySuite(whole.cases, result.output);
}

/** Runs the tests of the crate `route`, with many more property cases than `npm test`. */
export async function runProperties(casesEach: number): Promise<SuiteResult> {
  const args = ['test', ...MANIFEST, '-p', 'fairlead-route', '--lib'];
  const result = await run('cargo', args, { env: { RUST_BACKTRACE: '0', PROPTEST_CASES: String(casesEach) } });
  const cases = casesOf((name) => `properties/${name.replaceAll('::', '/')}`, result.stdout);
  return withExit('properties', result, cases);
}
