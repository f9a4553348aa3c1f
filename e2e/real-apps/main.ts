// `npm run check:real-apps`: deploys the public repositories of list.ts through a real control plane and agent, and
// sends each app requests (docs/proofs/real-apps.md). Applies the limits only to a run of the whole list.
import { parseArgs } from 'node:util';
import { REAL_APPS } from './list.ts';
import { nameOf } from './real-app.ts';
import { HEALTHY_SECONDS, runList } from './run-list.ts';
import { lastLine, shortfalls, summarize } from './verdict.ts';

const { values } = parseArgs({
  options: {
    mirror: { type: 'string' },
    data: { type: 'string' },
    only: { type: 'string' },
    out: { type: 'string' },
    'healthy-seconds': { type: 'string', default: String(HEALTHY_SECONDS) },
  },
});
const only = values.only?.split(',');
const healthySeconds = Number(values['healthy-seconds']);
const chosen = [...REAL_APPS.entries()].filter(
  ([, app]) => only === undefined || only.includes(app.repository) || only.includes(nameOf(app)),
);
const isWhole = only === undefined && healthySeconds >= HEALTHY_SECONDS;

const { results, broken } = await runList(chosen, {
  mirrorFolder: values.mirror,
  healthySeconds,
  dataFolder: values.data,
  outFile: values.out,
});

const sum = summarize(results);
const failing = chosen.filter(([, app]) => 'fails' in app).length;
const asListed = results.filter(({ outcome }) => outcome === 'failed as listed').length;
console.log(`must fail ${failing}, failed as listed ${asListed}`);
const problems = isWhole ? shortfalls(sum) : [];
for (const problem of problems) console.log(`FAIL ${problem}`);
if (!isWhole) console.log('A part of the list or a shorter wait: the bounds were not judged.');
console.log(lastLine(sum));
const isGood = problems.length === 0 && sum.wrongAdvice === 0 && broken === 0 && chosen.length > 0;
process.exitCode = isGood ? 0 : 1;
