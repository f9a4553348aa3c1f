// `npm run check:fairness`: small requests beside bulk transfers next to nginx, and transfers by foreign clients.
// `--short` is the form of `npm test`, which asserts no latency. Last line: `cells C, worst p99 ratio to nginx R,
// transfers T, broken B`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildAgent } from '../../tools/start/builds.ts';
import { binaries } from '../perf/prepare.ts';
import { checkFairness, RATIO_MAX } from './check.ts';

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    /** Path of an existing agent binary. */
    agent: { type: 'string' },
  },
});

const agent = options.agent ?? (options.short ? await buildAgent(() => undefined) : binaries(false).agent);
const folder = mkdtempSync(join(tmpdir(), 'fairlead-fairness-'));
try {
  const rounds = options.rounds === undefined ? {} : { rounds: Number(options.rounds) };
  const { cells, transfers } = await checkFairness({
    agent,
    folder,
    long: !options.short,
    note: console.log,
    ...rounds,
  });
  const worst = Math.max(...cells.map(({ ratio }) => ratio));
  const broken = transfers.filter(({ fault }) => fault !== undefined).length;
  const isFair = options.short ? cells.every(({ starved }) => !starved) : worst <= RATIO_MAX;
  const unanswered = cells.reduce((sum, { failed }) => sum + failed, 0);
  if (unanswered > 0) console.log(`${unanswered} small requests FAILED`);
  const ratio = worst.toFixed(2);
  console.log(
    `cells ${cells.length}, worst p99 ratio to nginx ${ratio}, transfers ${transfers.length}, broken ${broken}`,
  );
  process.exitCode = isFair && broken === 0 && unanswered === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
