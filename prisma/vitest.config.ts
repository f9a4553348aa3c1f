import { fileURLToPath } from 'node:url';
import { vitestConfig } from '@fairlead/config/vitest';

export default vitestConfig({
  include: ['seed/**/*.test.ts'],
  globalSetup: [fileURLToPath(import.meta.resolve('@fairlead/db/testing/global-setup'))],
  testTimeoutMs: 60_000,
});
