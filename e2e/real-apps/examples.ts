// `npm run check:examples`: deploys every app of `examples/` through a real control plane and agent, and sends each app requests
// (docs/proofs/real-apps.md#examples).
import { parseArgs } from 'node:util';
import { EXAMPLES } from './list/examples.ts';
import { runList } from './run-list.ts';

/** Long enough for a crash after the start: the examples do nothing that fails later. */
const HEALTHY_SECONDS = 5;

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    only: { type: 'string' },
    out: { type: 'string' },
    'healthy-seconds': { type: 'string', default: String(HEALTHY_SECONDS) },
  },
});
const only = values.only?.split(',');
const chosen = [...EXAMPLES.entries()].filter(([, { example }]) => only === undefined || only.includes(example));

const { results } = await runList(chosen, {
  mirrorFolder: undefined,
  healthySeconds: Number(values['healthy-seconds']),
  dataFolder: values.data,
  outFile: values.out,
});

const live = results.filter(({ outcome }) => outcome === 'live').length;
console.log(`examples ${chosen.length}, live ${live}`);
process.exitCode = live === chosen.length && live > 0 ? 0 : 1;
