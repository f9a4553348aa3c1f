// `npm run check:push`: sends pushes with duplicates and in disorder while every process and the database are killed, and
// GitHub has outages.
import { parseArgs } from 'node:util';
import { checkPushes, type Disturbance } from './push-check.ts';
import { isClean } from './push-count.ts';

const { values } = parseArgs({
  options: { pushes: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } },
});
const round: readonly Disturbance[] = [
  'worker',
  'webhooks_dropped',
  'gateway',
  'github_down',
  'intake',
  'database',
  'github_limited',
  'worker',
  'github_slow',
];
const report = await checkPushes({
  pushes: Number(values.pushes),
  repositories: 5,
  seed: Number(values.seed),
  disturbances: [...round, ...round],
});
console.log(
  `pushes ${report.pushes}, duplicates ${report.duplicates}, deployed ${report.deployed}, ` +
    `superseded ${report.superseded}, skipped ${report.skipped}, lost ${report.lost}, doubled ${report.doubled}`,
);
process.exitCode = isClean(report) ? 0 : 1;
