import { vitestConfig } from '@fairlead/config/vitest';

const base = vitestConfig({ include: ['system/**/*.test.ts'], testTimeoutMs: 120_000 });

// One system at a time: each takes ports, memory and the two cores that its timings are about.
export default { ...base, test: { ...base.test, fileParallelism: false } };
