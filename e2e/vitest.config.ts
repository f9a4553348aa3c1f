import { vitestConfig } from '@fairlead/config/vitest';

const base = vitestConfig({
  include: ['perf/**/*.test.ts', 'real-apps/**/*.test.ts', 'system/**/*.test.ts'],
  testTimeoutMs: 300_000,
});

// Two systems at a time: each waits far more than it works. More would be about the load, not about the system.
export default { ...base, test: { ...base.test, maxWorkers: 2 } };
