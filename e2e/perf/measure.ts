// Runs the cells with every peer in turn in each round (A B C A B C), so that the machine's noise is shared.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Cell } from './cells.ts';
import { measureDeploy } from './deploy-under-load.ts';
import { type Contender, type MeasurementSetup, measureRow, type Started, startApp } from './measure-row.ts';
import type { Peer } from './peer.ts';
import { startServing, startServingOnSocket, stopProcess } from './processes.ts';
import type { Row } from './proxy-report.ts';

export interface Failure {
  readonly cell: string;
  readonly proxy: string;
  readonly reason: string;
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
          const measured = cell.isDeploy
            ? await measureDeploy(setup, cell, folder, started)
            : [await measureRow(setup, cell, folder, started)];
          rows.push(...measured.map((row) => ({ ...row, round })));
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
    const app = await startApp(setup.stand, cell, serve);
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
