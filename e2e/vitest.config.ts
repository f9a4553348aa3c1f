import { vitestConfig } from '@fairlead/config/vitest';

const base = vitestConfig({
  include: ['perf', 'push', 'real-apps', 'system', 'ui'].map((folder) => `${folder}/**/*.test.ts`),
  testTimeoutMs: 300_000,
});

// Two systems at a time: each mostly waits. More would test the load instead of the system. A process for each file ends
// whatever a failed one left running.
export default { ...base, test: { ...base.test, isolate: true, maxWorkers: 2 } };
