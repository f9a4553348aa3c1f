// Runs the cells with every peer in turn in each round (A B C A B C), so that the machine's noise is shared.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../tools/lib/command.ts';
import type { Cell } from './cells.ts';
import type { Peer, Program, Running } from './peer.ts';
import { type ServingProcess, startServing, startServingOnSocket, stopProcess } from './processes.ts';
import type { Row } from './proxy-report.ts';

export const WARM_UP_MS = 500;
/** Delay before an idle connection is measured, so that it has released its unused memory. */
const IDLE_WARM_UP_MS = 6_000;

export interface Contender {
  readonly peer: Peer;
  readonly program: Program;
}

export interface Failure {
  readonly cell: string;
  readonly proxy: string;
  readonly reason: string;
}

export interface MeasurementSetup {
  readonly agent: string;
  readonly stand: string;
  readonly folder: string;
  readonly certificate: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly note: (line: string) => void;
}

interface Started extends Contender {
  readonly running: Running;
  readonly app: ServingProcess;
}

/** Returns the rows of one cell, and the peers that could not be measured. */
export async function measureCell(
  setup: MeasurementSetup,
  cell: Cell,
  contenders: readonly Contender[],
): Promise<{ rows: Row[]; failures: Failure[] }> {
  const rows: Row[] = [];
  const failures: Failure[] = [];
  const failed = (peer: Peer, error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    setup.note(`${cell.name}: ${peer.name} FAILED: ${reason}`);
    failures.push({ cell: cell.name, proxy: peer.name, reason });
  };
  const folder = mkdtempSync(join(setup.folder, `${cell.name}-`));
  // Memory from an earlier round would hide the need of the next one.
  const freshEachRound = cell.mode === 'idle';
  let field: Started[] = [];
  try {
    if (!freshEachRound) field = await startAll(setup, cell, folder, contenders, failed);
    for (let round = 0; round < setup.rounds; round++) {
      if (freshEachRound) field = await startAll(setup, cell, folder, contenders, failed);
      for (const started of [...field]) {
        try {
          rows.push({ ...(await measureRow(setup, cell, folder, started)), round });
        } catch (error) {
          failed(started.peer, error);
          field = field.filter((each) => each !== started);
          await stop(started);
        }
      }
      if (freshEachRound) field = await stopAll(field);
    }
  } finally {
    await stopAll(field);
  }
  return { rows, failures };
}

async function startAll(
  setup: MeasurementSetup,
  cell: Cell,
  folder: string,
  contenders: readonly Contender[],
  failed: (peer: Peer, error: unknown) => void,
): Promise<Started[]> {
  const field: Started[] = [];
  for (const contender of contenders) {
    // Each peer gets an app of its own, so that the app's table is not full of another's connections.
    const serve = contender.peer.unixApp ? startServingOnSocket : startServing;
    const app = await serve(setup.stand, ['app', String(cell.bodyBytes)]);
    try {
      const ends = { folder, certificate: setup.certificate, app: app.address, clients: cell.clients };
      field.push({ ...contender, app, running: await contender.peer.start(contender.program, ends) });
    } catch (error) {
      await stopProcess(app.child);
      failed(contender.peer, error);
    }
  }
  return field;
}

async function stopAll(field: readonly Started[]): Promise<Started[]> {
  await Promise.all(field.map(stop));
  return [];
}

async function stop({ running, app }: Started): Promise<void> {
  await stopProcess(running.child);
  await stopProcess(app.child);
}

/** Measures one round of one proxy with `fairlead-agent bench`. */
export async function measureRow(
  setup: Pick<MeasurementSetup, 'agent' | 'certificate' | 'seconds'>,
  cell: Cell,
  folder: string,
  { peer, running }: Pick<Started, 'peer' | 'running'>,
): Promise<Row> {
  const scheme = cell.secure ? 'https' : 'http';
  const plan = {
    contenders: [
      {
        name: peer.name,
        url: `${scheme}://bench.localhost/`,
        connect: cell.secure ? running.https : running.http,
        ca_file: join(setup.certificate, 'ca/ca.pem'),
        protocol: cell.protocol,
        pids: running.pids(),
      },
    ],
    mode: cell.mode,
    concurrency: [cell.clients],
    duration_ms: setup.seconds * 1000,
    warmup_ms: cell.mode === 'idle' ? IDLE_WARM_UP_MS : WARM_UP_MS,
  };
  mkdirSync(folder, { recursive: true });
  const planFile = join(folder, 'plan.json');
  writeFileSync(planFile, JSON.stringify(plan));
  const bench = await run(setup.agent, ['bench', '--plan', planFile, '--json']);
  const line = bench.stdout.trim();
  if (bench.code !== 0 || line === '') throw new Error(bench.output.trim().split('\n').at(-1) ?? 'no row');
  const row: Omit<Row, 'cell' | 'app_path'> = JSON.parse(line);
  return { ...row, cell: cell.name, app_path: peer.unixApp ? 'unix-socket' : 'loopback' };
}
