// Measures the response time of each list page in the large scenario, one request at a time.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { largeSlug } from '../../prisma/seed/large.ts';
import { seedLarge } from '../../prisma/seed/seed.ts';
import { type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePorts } from '../../tools/lib/free-ports.ts';
import { WEB_SERVER } from '../../tools/start/builds.ts';
import { ControlPlane } from '../../tools/start/control-plane.ts';
import { layOut, openData } from '../../tools/start/folders.ts';
import { Supervisor } from '../../tools/start/supervisor.ts';
import { atMost, type Measurement, percentile } from './table.ts';

const LISTS = [
  '',
  '/projects',
  '/apps',
  '/deployments',
  '/servers',
  '/benchmarks',
  '/domains',
  '/certificates',
  '/members',
  '/settings/audit',
  // Filters and sort orders.
  '/apps?state=unhealthy',
  '/apps?search=api&sort=p99',
  '/apps?sort=last_deployment',
  '/deployments?state=failed',
  '/deployments?search=no+such+text',
  '/deployments?branch=main&from=2026-01-01&order=oldest',
  '/servers?state=offline&sort=cpu',
  '/settings/audit?search=no+such+text',
  '/settings/audit?action=deployment.rollback',
];
const WARM_UP = 5;
const REQUESTS = 50;
const BOUND_MS = 150;

export async function measurePages(note: (line: string) => void): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-pages-'));
  chmodSync(folder, 0o711);
  const folders = layOut(join(folder, 'data'));
  openData(folders);
  const supervisor = new Supervisor({ logDir: folders.logs, recordFile: folders.record, note });
  const controlPlane = await ControlPlane.open({
    folders,
    ports: await freePorts(),
    supervisor,
    agentBinary: process.execPath,
    webServer: WEB_SERVER,
    unsafeButFast: true,
  });
  try {
    const startedAt = performance.now();
    const seeded = await seedLarge({ url: controlPlane.databaseUrl, replace: false, owner: null, note });
    note(`the large scenario loaded in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    if (seeded.ownerPassword === null) throw new Error('the large scenario was given to somebody else');
    await controlPlane.start();
    const owner = { name: 'Owner', email: seeded.ownerEmail, password: seeded.ownerPassword };
    const dashboard = await signIn(controlPlane.publicUrl, owner);
    const rows: Measurement[] = [];
    for (const list of LISTS) rows.push(await measurePage(dashboard, `/${largeSlug}${list}`));
    return rows;
  } finally {
    await controlPlane.stopServices();
    await controlPlane.stopDatabase();
    rmSync(folder, { recursive: true });
  }
}

async function measurePage(dashboard: Dashboard, path: string): Promise<Measurement> {
  const times: number[] = [];
  for (let count = 0; count < WARM_UP + REQUESTS; count++) {
    const { status, elapsedMs } = await dashboard.open(path);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    if (count >= WARM_UP) times.push(elapsedMs);
  }
  return atMost(`list page ${path}: p95 of ${REQUESTS}`, percentile(times, 0.95), BOUND_MS, 'ms');
}
