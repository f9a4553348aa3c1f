import { vitestConfig } from '@fairlead/config/vitest';

const base = vitestConfig();

// Next's router context exists twice once another file has loaded Next, so each file loads its own modules.
export default { ...base, test: { ...base.test, isolate: true } };
