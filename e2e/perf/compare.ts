// `npm run perf:compare -- BEFORE AFTER --cells h1_c32,h1_c200`: two builds of the agent as proxies in interleaved rounds.
// Prints the ratio (after ÷ before) of CPU time and involuntary context switches per request, with a 95 % bootstrap
// interval of the pairs. BEFORE generates the load; the release build's `stand` is the app.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pairedRatio } from '@fairlead/core/benchmark/statistics';
import { CELLS, type Cell } from './cells.ts';
import { measureRow, startApp } from './measure-row.ts';
import type { Peer, Running } from './peer.ts';
import { fairlead } from './peers.ts';
import { binaries, makeCertificate } from './prepare.ts';
import { type ServingProcess, stopProcess } from './processes.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cells: { type: 'string', default: 'h1_c200' },
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '3' },
    bytes: { type: 'string' },
  },
});

interface Side {
  readonly name: string;
  readonly peer: Peer;
  readonly app: ServingProcess;
  readonly running: Running;
}

interface Sample {
  readonly cpuUs: number;
  readonly switches: number;
  readonly perSecond: number;
  readonly errors: number;
}

/** Sum of the involuntary context switches of all threads of some processes. */
function involuntarySwitches(pids: readonly number[]): number {
  const threads = pids.flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`));
  return threads
    .map((thread) =>
      Number(/^nonvoluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`${thread}/status`, 'utf8'))?.[1]),
    )
    .reduce((sum, count) => sum + count, 0);
}

async function start(name: string, file: string, cell: Cell): Promise<Side> {
  const peer = fairlead(file)[0];
  if (peer === undefined) throw new Error('no peer');
  const app = await startApp(stand, cell);
  const program = { file, version: name };
  return {
    name,
    peer,
    app,
    running: await peer.start(program, { folder, certificate, app: app.address, clients: cell.clients }),
  };
}

async function measure(cell: Cell, side: Side): Promise<Sample> {
  const before = involuntarySwitches(side.running.pids());
  const row = await measureRow(
    { agent, certificate, seconds: Number(options.seconds) },
    cell,
    join(folder, 'plans'),
    side,
  );
  const switches = (involuntarySwitches(side.running.pids()) - before) / row.requests;
  return {
    cpuUs: row.cpu_us_per_request ?? Number.NaN,
    switches,
    perSecond: row.requests_per_second,
    errors: row.errors,
  };
}

async function compare(cell: Cell, files: readonly [string, string]): Promise<void> {
  const sides = [await start('before', files[0], cell), await start('after', files[1], cell)];
  const samples: Record<string, Sample[]> = { before: [], after: [] };
  try {
    for (let round = 0; round < Number(options.rounds); round++) {
      // Alternates the order, so that a trend of the machine's load favours neither.
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        samples[side.name]?.push(await measure(cell, side));
      }
    }
  } finally {
    for (const { running, app } of sides) {
      await stopProcess(running.child);
      await stopProcess(app.child);
    }
  }
  console.log(`${cell.name}: ${options.rounds} pairs, load ${loadavg()[0]?.toFixed(1)}`);
  for (const [metric, digits] of [
    ['cpuUs', 1],
    ['switches', 3],
    ['perSecond', 0],
  ] as const) {
    const of = (name: string) => (samples[name] ?? []).map((sample) => sample[metric]);
    const ratio = pairedRatio(of('after'), of('before'));
    const line = (name: string) =>
      of(name)
        .map((value) => value.toFixed(digits))
        .join(' ');
    const interval =
      ratio === null ? 'none' : `${ratio.median.toFixed(3)} (${ratio.low.toFixed(3)}–${ratio.high.toFixed(3)})`;
    console.log(`  ${metric.padEnd(10)} ratio ${interval}   before ${line('before')}   after ${line('after')}`);
  }
  const errors = Object.values(samples).map((each) => each.reduce((sum, { errors }) => sum + errors, 0));
  console.log(`  errors     ${errors.join(', ')}`);
}

const [before, after] = positionals;
if (before === undefined || after === undefined) throw new Error('usage: npm run perf:compare -- BEFORE AFTER');
const wanted = options.cells.split(',');
const unknown = wanted.filter((name) => CELLS.every((cell) => cell.name !== name));
if (unknown.length > 0) throw new Error(`unknown cells: ${unknown}`);
const agent = before;
const { stand } = binaries(true);
const folder = mkdtempSync(join(tmpdir(), 'fairlead-compare-'));
const certificate = join(folder, 'certificate');
try {
  makeCertificate(stand, certificate);
  mkdirSync(join(folder, 'plans'));
  for (const cell of CELLS.filter(({ name }) => wanted.includes(name))) {
    await compare(options.bytes === undefined ? cell : { ...cell, bodyBytes: Number(options.bytes) }, [before, after]);
  }
} finally {
  rmSync(folder, { recursive: true });
}
