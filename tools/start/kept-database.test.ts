import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '@fairlead/db/embedded';
import { readAllTables } from '@fairlead/db/testing/cluster';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../lib/free-ports.ts';
import { identityOf } from '../lib/process-identity.ts';
import { waitFor } from '../lib/wait.ts';
import { KeptDatabase } from './kept-database.ts';

let folder: string;
let kept: KeptDatabase;
const notes: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-kept-'));
  await chmod(folder, 0o711);
  const port = await freePort();
  const start = () => startEmbedded({ dataDir: folder, port, log: () => undefined, unsafeButFast: true });
  kept = await KeptDatabase.open(start, (line) => notes.push(line));
});
afterEach(async () => {
  await kept.stop();
  await rm(folder, { recursive: true });
});

test('a database that got SIGKILL restarts; one that was stopped stays down', async () => {
  const { pid } = kept;
  process.kill(pid, 'SIGKILL');
  await waitFor(() => kept.pid !== pid, { what: 'another server process', timeoutMs: 30_000 });
  expect(await readAllTables(kept.url)).toEqual([]);
  expect(notes[0]).toContain('starting it again');

  const last = kept.pid;
  await kept.stop();
  expect(identityOf(last)).toBeUndefined();
  await expect(readAllTables(kept.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
