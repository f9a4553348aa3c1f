// `npm run perf:proxy`: Fairlead's proxy beside its peers in interleaved rounds, with one certificate, TLS 1.3,
// AES-128-GCM, two workers and one small app. Prints tables with targets and asserts none; `-- --json FILE` saves the
// figures (docs/benchmarks/proxy.md), and `--rows FILE` every raw row for `npm run report`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CELLS, type Cell } from './cells.ts';
import { type Contender, type Failure, measureCell } from './measure.ts';
import type { Peer } from './peer.ts';
import { fairlead, OUT_OF_REACH, PEERS } from './peers.ts';
import { binaries, makeCertificate } from './prepare.ts';
import { figures, formatCell, type Row } from './proxy-report.ts';
import { documentOf, writeDocument } from './proxy-rows.ts';

const { values: options } = parseArgs({
  options: {
    json: { type: 'string' },
    rows: { type: 'string' },
    cells: { type: 'string' },
    peers: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    /** Measures an existing release build. */
    built: { type: 'boolean', default: false },
  },
});

function note(line: string): void {
  console.log(`  …  ${line}`);
}

/** Returns the items of `all` that `names` selects, in the order of `all`. */
function chosen<T extends { readonly name: string }>(all: readonly T[], names: string | undefined): readonly T[] {
  if (names === undefined) return all;
  const wanted = names.split(',');
  const unknown = wanted.filter((name) => all.every((each) => each.name !== name));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown}; there are ${all.map((each) => each.name)}`);
  return all.filter((each) => wanted.includes(each.name));
}

type Missing = (typeof OUT_OF_REACH)[number];

async function obtainAll(peers: readonly Peer[]): Promise<{ contenders: Contender[]; missing: Missing[] }> {
  const contenders: Contender[] = [];
  const missing: Missing[] = [];
  for (const peer of peers) {
    try {
      const program = await peer.obtain();
      if (!peer.isVariant) console.log(`${peer.name}: ${program.version}`);
      contenders.push({ peer, program });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      console.log(`${peer.name}: CAN'T BE HAD: ${reason}`);
      missing.push({ name: peer.name, reason });
    }
  }
  return { contenders, missing };
}

function takesPart({ name, speaks, isVariant }: Peer, cell: Cell): boolean {
  if (cell.only !== undefined) return cell.only.includes(name);
  return speaks.includes(cell.protocol) && (!isVariant || (cell.also?.includes(name) ?? false));
}

/** Command that measures the same again, with the name of the file left open. */
function commandLine(): string {
  const { cells, peers, rounds, seconds } = options;
  const given = Object.entries({ cells, peers, rounds, seconds }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${value}`],
  );
  return ['npm run perf:proxy --', ...given, '--rows FILE'].join(' ');
}

const cells = chosen(CELLS, options.cells);
const peers = chosen(PEERS, options.peers);
const { agent, stand } = binaries(options.built);
const startedAt = new Date();
const { contenders, missing } = await obtainAll([...fairlead(agent), ...peers]);
for (const { name, reason } of OUT_OF_REACH) console.log(`${name}: NOT MEASURED: ${reason}`);
const model = cpus()[0]?.model ?? 'unknown processor';
const load = () => loadavg()[0]?.toFixed(2);
console.log(`${new Date().toISOString()}: ${availableParallelism()} × ${model}, load ${load()}`);

const folder = mkdtempSync(join(tmpdir(), 'fairlead-perf-'));
try {
  const certificate = join(folder, 'certificate');
  makeCertificate(stand, certificate);
  const rounds = { rounds: Number(options.rounds), seconds: Number(options.seconds) };
  const rows: Row[] = [];
  const failures: Failure[] = [];
  for (const cell of cells) {
    const field = contenders.filter(({ peer }) => takesPart(peer, cell));
    note(`${cell.name}: ${rounds.rounds} rounds of ${rounds.seconds} s, ${field.length} proxies, load ${load()}`);
    const measured = await measureCell({ agent, stand, folder, certificate, ...rounds, note }, cell, field);
    rows.push(...measured.rows);
    failures.push(...measured.failures);
    console.log(`\n${formatCell(cell, figures(measured.rows), measured.failures)}\n`);
  }
  const saved = { at: new Date().toISOString(), cells: figures(rows), failures };
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(saved, null, 2)}\n`);
  if (options.rows !== undefined) {
    const { seconds } = rounds;
    const run = {
      startedAt,
      finishedAt: new Date(),
      command: commandLine(),
      seconds,
      cells,
      contenders,
      rows,
      failures,
    };
    writeDocument(options.rows, documentOf({ ...run, missing: [...missing, ...OUT_OF_REACH] }));
    console.log(`wrote ${rows.length} rows to ${options.rows}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
