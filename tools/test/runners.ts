// Runs vitest, cargo test and Playwright, and counts passed and failed tests. A runner that fails without a failed test
// counts as one failure; a skipped test counts as failed.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT, run, SILENT_CODE } from '../lib/command.ts';
import { failure, type Outcome } from './outcome.ts';
import type { Say } from './screen.ts';

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[] | null;
    }[];
  }[];
}

/** Twice the silence of the longest compile on a busy machine: a longer silence means that the program hangs. */
const SILENCE_MS = 30 * 60_000;

/** Niceness of unit tests, so that they yield to tests of the whole product, which often wait. */
const UNIT_NICENESS = 5;

/** Runs the test files of one folder with a vitest.config.ts, or those with paths that contain one of `files`. */
export async function runVitest(folder: string, say: Say, files: readonly string[] = []): Promise<Outcome> {
  return withReport(async (file) => {
    const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...files];
    const { code } = await run('vitest', args, {
      cwd: join(ROOT, folder),
      onOutput: say,
      silenceMs: SILENCE_MS,
      ...(folder === 'e2e' ? {} : { niceness: UNIT_NICENESS }),
      env: { CI: '1' },
    });
    const report = readJson<VitestReport>(file);
    if (report === undefined) return { passed: 0, failed: 1 };
    const failed = report.numFailedTests + report.numPendingTests + report.numTodoTests;
    const failures = report.testResults.flatMap((file) => {
      const tests = file.assertionResults.filter(({ status }) => status !== 'passed');
      if (tests.length === 0 && file.message !== '') return [failure(file.name, file.message)];
      return tests.map((test) => failure(`${folder}: ${test.fullName}`, (test.failureMessages ?? []).join('\n')));
    });
    const durations = report.testResults.map(({ name, startTime, endTime }) => ({
      name: relative(ROOT, name),
      durationMs: endTime - startTime,
    }));
    return {
      passed: report.numPassedTests,
      failed: failed === 0 && code !== 0 ? 1 : failed,
      failures,
      files: durations,
    };
  });
}

/** Returns folders with vitest tests, except e2e, which is a stage of its own, and tools, which verify runs. */
export function vitestFolders(): string[] {
  return globSync(['apps/*/vitest.config.ts', 'packages/*/vitest.config.ts', 'prisma/vitest.config.ts'], { cwd: ROOT })
    .map((config) => config.replace(/\/vitest\.config\.ts$/, ''))
    .filter((folder) => globSync(`${folder}/{src,seed}/**/*.test.{ts,tsx}`, { cwd: ROOT }).length > 0)
    .sort();
}

const CARGO_RESULT = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm;
/** Failed test in the output of `cargo test`: its name, then its own output up to the next. */
const CARGO_FAILURE = /^---- (\S+) stdout ----\n([\s\S]*?)(?=^---- |^failures:$)/gm;

/** More threads than cores, because the slow tests wait for other processes. */
const RUST_TEST_THREADS = '4';

export async function runCargoTest(selection: readonly string[], say: Say): Promise<Outcome> {
  const args = ['test', '--manifest-path', 'agents/Cargo.toml', '--locked', '--no-fail-fast', '--quiet', ...selection];
  const { code, output } = await run('cargo', args, {
    onOutput: say,
    silenceMs: SILENCE_MS,
    env: { RUST_TEST_THREADS },
  });
  let passed = 0;
  let failed = 0;
  for (const [, ok, bad, ignored] of output.matchAll(CARGO_RESULT)) {
    passed += Number(ok);
    failed += Number(bad) + Number(ignored);
  }
  const failures = [...output.matchAll(CARGO_FAILURE)].map(([, name = '', said = '']) => failure(name, said));
  if (code === SILENT_CODE)
    failures.push(failure('cargo test hung', output.trimEnd().split('\n').slice(-5).join('\n')));
  return { passed, failed: failed === 0 && code !== 0 ? 1 : failed, failures };
}

const PROTOCOLS_RESULT = /^cases (\d+), failed (\d+)$/m;

/** Runs the short form of `npm run check:protocols`. */
export async function runProtocols(say: Say): Promise<Outcome> {
  const { code, output } = await run('node', ['e2e/protocols/main.ts', '--short'], {
    onOutput: say,
    silenceMs: SILENCE_MS,
  });
  const [, cases, bad] = PROTOCOLS_RESULT.exec(output) ?? [];
  if (cases === undefined || bad === undefined) return { passed: 0, failed: 1 };
  const failed = Number(bad);
  return { passed: Number(cases) - failed, failed: failed === 0 && code !== 0 ? 1 : failed };
}

interface PlaywrightSuite {
  readonly suites?: readonly PlaywrightSuite[];
  readonly specs?: readonly {
    readonly title: string;
    readonly file: string;
    readonly ok: boolean;
    readonly tests: readonly {
      readonly results: readonly { readonly error?: { readonly message?: string } }[];
    }[];
  }[];
}

interface PlaywrightReport {
  readonly suites: readonly PlaywrightSuite[];
  readonly stats: {
    readonly expected: number;
    readonly unexpected: number;
    readonly flaky: number;
    readonly skipped: number;
  };
}

export async function runPlaywright(config: string, env: Readonly<Record<string, string>>, say: Say): Promise<Outcome> {
  return withReport(async (file) => {
    const args = ['test', '--config', config, '--reporter=list,json'];
    const { code } = await run('playwright', args, {
      onOutput: say,
      silenceMs: SILENCE_MS,
      env: { ...env, PLAYWRIGHT_JSON_OUTPUT_NAME: file },
    });
    const report = readJson<PlaywrightReport>(file);
    if (report === undefined) return { passed: 0, failed: 1 };
    const { expected, unexpected, flaky, skipped } = report.stats;
    const failed = unexpected + flaky + skipped;
    const failures = report.suites.flatMap(playwrightFailures);
    return { passed: expected, failed: failed === 0 && code !== 0 ? 1 : failed, failures };
  });
}

function playwrightFailures(suite: PlaywrightSuite): string[] {
  const own = (suite.specs ?? [])
    .filter(({ ok }) => !ok)
    .map((spec) => {
      const errors = spec.tests.flatMap(({ results }) => results.map(({ error }) => error?.message ?? ''));
      return failure(`${spec.file}: ${spec.title}`, errors.join('\n'));
    });
  return [...own, ...(suite.suites ?? []).flatMap(playwrightFailures)];
}

async function withReport(work: (file: string) => Promise<Outcome>): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-report-'));
  try {
    return await work(join(folder, 'report.json'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readJson<T>(file: string): T | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : undefined;
}
