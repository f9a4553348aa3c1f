// Row of a plain matrix for tests: fields that only scenarios and faults fill.
import type { ResultRow } from './results.ts';

export const plainRow = {
  phase: null,
  probe: null,
  failures: {},
  p999Ms: null,
  maxMs: null,
  generatorCpuUs: 0,
  generatorSaturated: false,
  appCpuUs: 0,
  clients: 8,
  unsent: 0,
  noise: null,
  link: null,
  appConnections: 0,
  parts: [],
  percentiles: [],
} as const satisfies Partial<ResultRow>;
