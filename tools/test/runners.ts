// Runs vitest, cargo test and Playwright, and reads from each how many tests passed and failed. A runner that ends badly
// without naming a failed test counts as one failure; a skipped test counts as failed, because nothing here is skipped.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, run } from '../lib/command.ts';
import type { Outcome } from './outcome.ts';

const show = (chunk: string) => process.stdout.write(chunk);

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
}

/** All test files of one folder that has a vitest.config.ts. */
export async function runVitest(folder: string): Promise<Outcome> {
  return withReport(async (file) => {
    const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const { code } = await run('vitest', args, { cwd: join(ROOT, folder), onOutput: show, env: { CI: '1' } });
    const report = readJson<VitestReport>(file);
    if (report === undefined) return { passed: 0, failed: 1 };
    const failed = report.numFailedTests + report.numPendingTests + report.numTodoTests;
    return { passed: report.numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed };
  });
}

/** Folders with tests for vitest, but e2e, which is a stage of its own, and tools, which verify runs. */
export function vitestFolders(): string[] {
  return globSync(['apps/*/vitest.config.ts', 'packages/*/vitest.config.ts', 'prisma/vitest.config.ts'], { cwd: ROOT })
    .map((config) => config.replace(/\/vitest\.config\.ts$/, ''))
    .filter((folder) => globSync(`${folder}/{src,seed}/**/*.test.{ts,tsx}`, { cwd: ROOT }).length > 0)
    .sort();
}

const CARGO_RESULT = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm;

export async function runCargoTest(selection: readonly string[]): Promise<Outcome> {
  const args = ['test', '--manifest-path', 'agents/Cargo.toml', '--locked', '--no-fail-fast', '--quiet', ...selection];
  const { code, output } = await run('cargo', args, { onOutput: show });
  let passed = 0;
  let failed = 0;
  for (const [, ok, bad, ignored] of output.matchAll(CARGO_RESULT)) {
    passed += Number(ok);
    failed += Number(bad) + Number(ignored);
  }
  return { passed, failed: failed === 0 && code !== 0 ? 1 : failed };
}

const PROTOCOLS_RESULT = /^cases (\d+), failed (\d+)$/m;

/** The short form of `npm run check:protocols`. */
export async function runProtocols(): Promise<Outcome> {
  const { code, output } = await run('node', ['e2e/protocols/main.ts', '--short'], { onOutput: show });
  const [, cases, bad] = PROTOCOLS_RESULT.exec(output) ?? [];
  if (cases === undefined || bad === undefined) return { passed: 0, failed: 1 };
  const failed = Number(bad);
  return { passed: Number(cases) - failed, failed: failed === 0 && code !== 0 ? 1 : failed };
}

interface PlaywrightReport {
  readonly stats: {
    readonly expected: number;
    readonly unexpected: number;
    readonly flaky: number;
    readonly skipped: number;
  };
}

export async function runPlaywright(config: string, env: Readonly<Record<string, string>>): Promise<Outcome> {
  return withReport(async (file) => {
    const args = ['test', '--config', config, '--reporter=list,json'];
    const { code } = await run('playwright', args, {
      onOutput: show,
      env: { ...env, PLAYWRIGHT_JSON_OUTPUT_NAME: file },
    });
    const report = readJson<PlaywrightReport>(file);
    if (report === undefined) return { passed: 0, failed: 1 };
    const { expected, unexpected, flaky, skipped } = report.stats;
    const failed = unexpected + flaky + skipped;
    return { passed: expected, failed: failed === 0 && code !== 0 ? 1 : failed };
  });
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
