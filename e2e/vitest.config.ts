import { vitestConfig } from '@fairlead/config/vitest';

const base = vitestConfig({
  include: ['perf/**/*.test.ts', 'real-apps/**/*.test.ts', 'system/**/*.test.ts'],
  testTimeoutMs: 300_000,
});

// Two systems at a time: each mostly waits. More would test the load instead of the system.
export default { ...base, test: { ...base.test, maxWorkers: 2 } };
