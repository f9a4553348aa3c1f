// Options of the Chromium that runs the browser tests: headless, and without services of its own.
import type { LaunchOptions } from '@playwright/test';
import { CHROMIUM } from '../../tools/test/debian.ts';

export const LAUNCH_OPTIONS: LaunchOptions = {
  executablePath: process.env.CHROMIUM_PATH ?? CHROMIUM.file,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--disable-dev-shm-usage',
  ],
};
