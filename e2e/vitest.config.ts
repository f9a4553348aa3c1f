import { vitestConfig } from '@fairlead/config/vitest';

const base = vitestConfig({
  include: ['perf/**/*.test.ts', 'push/**/*.test.ts', 'real-apps/**/*.test.ts', 'system/**/*.test.ts'],
  testTimeoutMs: 300_000,
});

// Two systems at a time: each mostly waits. More would test the load instead of the system. A process for each file ends
// whatever a failed one left running.
export default { ...base, test: { ...base.test, isolate: true, maxWorkers: 2 } };
