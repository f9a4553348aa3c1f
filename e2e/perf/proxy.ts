// `npm run perf:proxy`: Fairlead's proxy beside its peers in interleaved rounds, with one certificate, TLS 1.3,
// AES-128-GCM, two workers and one small app. Prints tables with targets and asserts none; `-- --json FILE` saves the
// figures (docs/benchmarks/proxy.md), and `--rows FILE` every raw row for `npm run report`. `npm run perf:report` measures
// our first report.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../tools/lib/command.ts';
import { CELLS, type Cell, REPORT_CELLS } from './cells.ts';
import { type Failure, measureCell } from './measure.ts';
import type { Contender } from './measure-row.ts';
import type { Peer } from './peer.ts';
import { programIn } from './peer-install.ts';
import { fairlead, MAINLINE, OUT_OF_REACH, PEERS, REPORT_PEERS } from './peers.ts';
import { binaries, makeCertificate } from './prepare.ts';
import { cellOf, figures, formatCell, type Row } from './proxy-report.ts';
import { documentOf, writeDocument } from './proxy-rows.ts';

const { values: options } = parseArgs({
  options: {
    json: { type: 'string' },
    rows: { type: 'string' },
    cells: { type: 'string' },
    peers: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    /** Default: 3, and for the report 1.5. */
    seconds: { type: 'string' },
    /** Title of the rows. Default: Fairlead beside other proxies. */
    title: { type: 'string' },
    /** Folder with programs named as the peers, which come before those of registries. */
    programs: { type: 'string' },
    /** Measures the cells and peers of our first report, and writes their rows. */
    report: { type: 'boolean', default: false },
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
      const given = options.programs === undefined ? undefined : programIn(options.programs, peer);
      const program = given ?? (await peer.obtain());
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

function takesPart({ name, speaks, isVariant, isTlsOnly, hasFixedApp }: Peer, cell: Cell): boolean {
  if (cell.only !== undefined) return cell.only.includes(name);
  if (isVariant) return !options.report && (cell.also?.includes(name) ?? false);
  if (cell.isDeploy && hasFixedApp) return false;
  return speaks.includes(cell.protocol) && (cell.secure || !isTlsOnly);
}

/** Returns why a cell can't be measured here; undefined if it can. */
function obstacleOf({ clients, protocol }: Cell): string | undefined {
  const [, text] = /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  const limit = text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
  const descriptors = 2 * clients + DESCRIPTORS_RESERVED;
  if (protocol !== 'http1' || descriptors <= limit) return undefined;
  return `${clients} clients need ${descriptors} open files in the proxy, and a process may open ${limit} here`;
}

/** Descriptors of a process for everything but clients. */
const DESCRIPTORS_RESERVED = 512;
const REPORT_ROWS = join(ROOT, 'docs/benchmarks/rows/proxies.json');

/** Command that measures the same again, with the names of files and folders left open. */
function commandLine(): string {
  const { report, cells, peers, rounds, seconds } = options;
  const title = options.title === undefined ? undefined : `'${options.title}'`;
  const given = Object.entries({ title, cells, peers, rounds, seconds }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${value}`],
  );
  const programs = options.programs === undefined ? [] : ['--programs FOLDER'];
  if (report) return ['npm run perf:report --', ...given, ...programs].join(' ');
  return ['npm run perf:proxy --', ...given, ...programs, '--rows FILE'].join(' ');
}

const cells = chosen(CELLS, options.cells ?? (options.report ? REPORT_CELLS.join(',') : undefined));
const peers = chosen(PEERS, options.peers ?? (options.report ? REPORT_PEERS.join(',') : undefined));
const rowsFile = options.rows ?? (options.report ? REPORT_ROWS : undefined);
const { agent, stand } = binaries(options.built);
const startedAt = new Date();
const obtained = await obtainAll([...fairlead(agent), ...peers]);
const hasMainline = obtained.contenders.some(({ peer }) => peer.name === MAINLINE);
const missing = obtained.missing;
// The report has one nginx.
const contenders = obtained.contenders.filter(({ peer }) => !(options.report && hasMainline && peer.name === 'nginx'));
const outOfReach = options.peers === undefined ? OUT_OF_REACH : [];
for (const { name, reason } of outOfReach) console.log(`${name}: NOT MEASURED: ${reason}`);
const model = cpus()[0]?.model ?? 'unknown processor';
const load = () => loadavg()[0]?.toFixed(2);
console.log(`${new Date().toISOString()}: ${availableParallelism()} × ${model}, load ${load()}`);

const folder = mkdtempSync(join(tmpdir(), 'fairlead-perf-'));
try {
  const certificate = join(folder, 'certificate');
  makeCertificate(stand, certificate);
  const rounds = { rounds: Number(options.rounds), seconds: Number(options.seconds ?? (options.report ? 1.5 : 3)) };
  const rows: Row[] = [];
  const failures: Failure[] = [];
  const skipped: { readonly name: string; readonly reason: string }[] = [];
  for (const cell of cells) {
    const obstacle = obstacleOf(cell);
    if (obstacle !== undefined) {
      console.log(`${cell.name}: SKIPPED: ${obstacle}`);
      skipped.push({ name: cell.name, reason: obstacle });
      continue;
    }
    const field = contenders.filter(({ peer }) => takesPart(peer, cell));
    note(`${cell.name}: ${rounds.rounds} rounds of ${rounds.seconds} s, ${field.length} proxies, load ${load()}`);
    const measured = await measureCell({ agent, stand, folder, certificate, ...rounds, note }, cell, field);
    rows.push(...measured.rows);
    failures.push(...measured.failures);
    const parts = new Set(measured.rows.map(cellOf));
    for (const name of parts.size === 0 ? [cell.name] : parts) {
      console.log(`\n${formatCell({ ...cell, name }, figures(measured.rows), measured.failures)}\n`);
    }
  }
  const saved = { at: new Date().toISOString(), cells: figures(rows), failures };
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(saved, null, 2)}\n`);
  if (rowsFile !== undefined) {
    const run = {
      title: options.title ?? 'Fairlead beside other proxies',
      startedAt,
      finishedAt: new Date(),
      command: commandLine(),
      cells,
      contenders,
      rows,
      failures,
      skipped,
    };
    writeDocument(rowsFile, documentOf({ ...run, missing: [...missing, ...outOfReach] }));
    console.log(`wrote ${rows.length} rows to ${rowsFile}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
