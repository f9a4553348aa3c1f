import { defineConfig } from '@playwright/test';
import { LAUNCH_OPTIONS } from './launch-options.ts';
import { SPECS } from './sample.ts';

// One product serves the whole run (global-setup.ts), so tests run one after another.
export default defineConfig({
  testDir: import.meta.dirname,
  testMatch: SPECS,
  globalSetup: './global-setup.ts',
  workers: 1,
  fullyParallel: false,
  retries: 0,
  forbidOnly: true,
  timeout: 90_000,
  expect: { timeout: 15_000 },
  outputDir: '../../test-results',
  use: {
    viewport: { width: 1440, height: 900 },
    // Recording every test takes a third of the browser's time. Record one spec with `--trace retain-on-failure`.
    trace: 'off',
    screenshot: 'only-on-failure',
    launchOptions: LAUNCH_OPTIONS,
  },
});
