// Measures one row: the load of one cell on one running proxy, by `fairlead-agent bench`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../tools/lib/command.ts';
import type { Cell } from './cells.ts';
import type { Peer, Program, Running } from './peer.ts';
import { type ServingProcess, startServing } from './processes.ts';
import type { Row } from './proxy-report.ts';

export const WARM_UP_MS = 500;
/** Delay before an idle connection is measured, so that it has released its unused memory. */
const IDLE_WARM_UP_MS = 6_000;

export interface Contender {
  readonly peer: Peer;
  readonly program: Program;
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

export interface Started extends Contender {
  readonly running: Running;
  /** Another one after a deployment. */
  app: ServingProcess;
}

/** Starts a copy of the app of a cell, by default on a free port. */
export function startApp(stand: string, { bodyBytes }: Cell, serve = startServing): Promise<ServingProcess> {
  return serve(stand, ['app', String(bodyBytes)]);
}

/** Measures one round of one proxy with `fairlead-agent bench`. `pids` are the processes to measure. */
export async function measureRow(
  setup: Pick<MeasurementSetup, 'agent' | 'certificate' | 'seconds'>,
  cell: Cell,
  folder: string,
  { peer, running }: Pick<Started, 'peer' | 'running'>,
  pids: readonly number[] = running.pids(),
): Promise<Row> {
  const scheme = cell.secure ? 'https' : 'http';
  const plan = {
    contenders: [
      {
        name: peer.name,
        url: `${scheme}://bench.localhost${cell.path ?? '/'}`,
        connect: cell.secure ? running.https : running.http,
        ca_file: join(setup.certificate, 'ca/ca.pem'),
        protocol: cell.protocol,
        pids: [...pids],
      },
    ],
    mode: cell.mode,
    concurrency: [cell.clients],
    ...(cell.rate === undefined ? {} : { rate: cell.rate }),
    duration_ms: setup.seconds * 1000,
    warmup_ms: cell.mode === 'idle' ? IDLE_WARM_UP_MS : WARM_UP_MS,
  };
  mkdirSync(folder, { recursive: true });
  const planFile = join(folder, 'plan.json');
  writeFileSync(planFile, JSON.stringify(plan));
  const bench = await run(setup.agent, ['bench', '--plan', planFile, '--json']);
  const line = bench.stdout.trim();
  if (bench.code !== 0 || line === '') throw new Error(bench.output.trim().split('\n').at(-1) ?? 'no row');
  const row: Omit<Row, 'cell' | 'app_path' | 'seconds'> = JSON.parse(line);
  const { seconds } = setup;
  return { ...row, cell: cell.name, seconds, app_path: peer.unixApp ? 'unix-socket' : 'loopback' };
}
