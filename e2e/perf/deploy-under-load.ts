// Deployment of the app behind a proxy while requests arrive: a second copy starts, the proxy is switched to it, and the
// first copy ends after a drain that is the same for all proxies.
import { setTimeout as delay } from 'node:timers/promises';
import type { Cell } from './cells.ts';
import { type MeasurementSetup, measureRow, type Started, startApp, WARM_UP_MS } from './measure-row.ts';
import { stopProcess } from './processes.ts';
import type { Row } from './proxy-report.ts';

/** Measured time before and after the deployment. */
const QUIET_SECONDS = 2;
const DEPLOY_SECONDS = 5;
/** Time from the start of the load, which first connects and warms up, to the deployment. */
const DEPLOY_AFTER_MS = WARM_UP_MS + 1_000;
/** Time from the switch to the end of the old copy: h2o's master ends its old worker a second after a reload. */
export const DRAIN_MS = 2_500;

/** Returns rows before, during and after one deployment. */
export async function measureDeploy(
  setup: MeasurementSetup,
  cell: Cell,
  folder: string,
  started: Started,
): Promise<Row[]> {
  const quiet = { ...setup, seconds: QUIET_SECONDS };
  const before = await measureRow(quiet, cell, folder, started);
  const during = await measureSwitch({ ...setup, seconds: DEPLOY_SECONDS }, cell, folder, started);
  const after = await measureRow(quiet, cell, folder, started);
  return [
    { ...before, phase: 'before' },
    // A reload may replace the proxy's processes, so their CPU and memory are unknown.
    { ...during, phase: 'during', cpu_us_per_request: null, memory_bytes: null, memory_before_bytes: null },
    { ...after, phase: 'after' },
  ];
}

async function measureSwitch(setup: MeasurementSetup, cell: Cell, folder: string, started: Started): Promise<Row> {
  const measured = measureRow(setup, cell, folder, started, []).then((row) => ({ row, end: performance.now() }));
  const deployed = delay(DEPLOY_AFTER_MS).then(() => deploy(setup, cell, started));
  // Both end before an error counts: nothing may run on into the next measurement.
  await Promise.allSettled([measured, deployed]);
  const [{ row, end }, times] = [await measured, await deployed];
  if (times.begin < end - setup.seconds * 1000 || times.end > end) {
    throw new Error('the deployment was not within the measured time');
  }
  return row;
}

async function deploy(
  { stand }: MeasurementSetup,
  cell: Cell,
  started: Started,
): Promise<{ begin: number; end: number }> {
  const begin = performance.now();
  const old = started.app;
  const next = await startApp(stand, cell);
  try {
    await started.running.switchApp(next.address);
  } catch (error) {
    await stopProcess(next.child);
    throw error;
  }
  started.app = next;
  await delay(DRAIN_MS);
  await stopProcess(old.child);
  return { begin, end: performance.now() };
}
