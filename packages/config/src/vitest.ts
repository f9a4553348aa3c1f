// The one vitest configuration that every package starts from. It must never hide a failure: no retries, no `.only`,
// no empty run that passes.
import type { ViteUserConfig } from 'vitest/config';

export interface VitestOptions {
  /** Modules that run once before the first test file, for example the embedded database. */
  readonly globalSetup?: readonly string[];
  readonly include?: readonly string[];
  readonly testTimeoutMs?: number;
}

export function vitestConfig(options: VitestOptions = {}): ViteUserConfig {
  // Ends a test that hangs, not one that is slow: in CI a test may take ten times as long as on a quiet machine.
  const testTimeoutMs = options.testTimeoutMs ?? 60_000;
  return {
    test: {
      include: [...(options.include ?? ['src/**/*.test.ts', 'src/**/*.test.tsx'])],
      globalSetup: [...(options.globalSetup ?? [])],
      environment: 'node',
      // Test files share their modules: no test replaces one, and importing them anew took longer than most files.
      isolate: false,
      testTimeout: testTimeoutMs,
      hookTimeout: testTimeoutMs * 3,
      teardownTimeout: 20_000,
      allowOnly: false,
      passWithNoTests: false,
      retry: 0,
      // The report of `npm test` has a failure's first line only: it names what differs.
      chaiConfig: { truncateThreshold: 400 },
      // A condition is waited for as long as a loaded machine needs; the default gives up after one second.
      expect: { poll: { interval: 20, timeout: testTimeoutMs * 0.75 } },
      env: { TZ: 'UTC' },
    },
  };
}
