// `npm run check:floods`: hostile clients over every protocol against a proxy with few file descriptors, while a polite
// client sends requests on open and new connections. `-- --short` is the form of `npm test`, `-- FLOOD` selects one
// flood.
import { parseArgs } from 'node:util';
import { run } from '../../tools/lib/command.ts';
import { buildProtocols } from './cargo-suites.ts';

// `-- --proxy PROGRAM` floods the `proxy` of another build of `fairlead-protocols`: a flood works if a build without
// the limit fails.

const GROWTH_MIB_MAX = 128;
const DESCRIPTORS_PERCENT_MAX = 60;
const OUTPUT_LINES_MAX = 60;

interface Flood {
  readonly flood: string;
  readonly growthMib: number;
  readonly descriptorsPercent: number;
  /** Requests of the polite client, and the failed ones among them. */
  readonly asked: number;
  readonly failed: number;
  /** Latency of the polite client, during the flood and before it. */
  readonly p99Ms: number;
  readonly calmP99Ms: number;
}

/** Parses the line of a flood; returns undefined for other output. */
function readFlood(line: string): Flood | undefined {
  const start = line.indexOf('{"flood":');
  return start === -1 ? undefined : (JSON.parse(line.slice(start)) as Flood);
}

function show(flood: Flood): void {
  const ratio = flood.calmP99Ms > 0 ? flood.p99Ms / flood.calmP99Ms : 0;
  console.log(
    `${flood.flood.padEnd(32)} RSS +${flood.growthMib.toFixed(1)} MiB, descriptors ${flood.descriptorsPercent} %, ` +
      `polite client ${flood.failed} of ${flood.asked} failed, p99 ${flood.p99Ms.toFixed(1)} ms (× ${ratio.toFixed(1)})`,
  );
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean', default: false }, proxy: { type: 'string' } },
});
const program = await buildProtocols();
const floods: Flood[] = [];
let unread = '';
// Runs floods one after another, because each is measured.
const { code, output } = await run(program, [positionals[0] ?? 'floods/', '--test-threads=1'], {
  env: {
    FAIRLEAD_FLOODS_REPORT: '1',
    ...(values.short ? {} : { FAIRLEAD_PROTOCOLS_LONG: '1' }),
    ...(values.proxy === undefined ? {} : { FAIRLEAD_FLOODS_PROXY: values.proxy }),
  },
  onOutput: (chunk) => {
    const lines = (unread + chunk).split('\n');
    unread = lines.pop() ?? '';
    for (const flood of lines.map(readFlood)) {
      if (flood === undefined) continue;
      floods.push(flood);
      show(flood);
    }
  },
});
const growth = Math.ceil(Math.max(0, ...floods.map(({ growthMib }) => growthMib)));
const descriptors = Math.max(0, ...floods.map(({ descriptorsPercent }) => descriptorsPercent));
const failed = floods.reduce((sum, flood) => sum + flood.failed, 0);
// A flood that did not run, or exceeded its own limit, proves nothing.
const ended = code === 0 && floods.length > 0;
const passed = ended && growth <= GROWTH_MIB_MAX && descriptors <= DESCRIPTORS_PERCENT_MAX && failed === 0;
if (!passed) console.log(output.trimEnd().split('\n').slice(-OUTPUT_LINES_MAX).join('\n'));
console.log(
  `floods ${floods.length}, RSS growth max ${growth} MiB, descriptors max ${descriptors} %, polite client failed ${failed}`,
);
process.exit(passed ? 0 : 1);
