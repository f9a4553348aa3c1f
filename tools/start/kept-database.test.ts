import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '@fairlead/db/embedded';
import pg from 'pg';
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

async function ask(): Promise<unknown> {
  const client = new pg.Client({ connectionString: kept.url });
  await client.connect();
  try {
    return (await client.query('SELECT 1 AS one')).rows[0];
  } finally {
    await client.end();
  }
}

test('a database that was killed -9 comes back with its data; one that was stopped stays down', async () => {
  const { pid } = kept;
  process.kill(pid, 'SIGKILL');
  await waitFor(() => kept.pid !== pid, { what: 'another server process', timeoutMs: 30_000 });
  expect(await ask()).toEqual({ one: 1 });
  expect(notes[0]).toContain('starting it again');

  const last = kept.pid;
  await kept.stop();
  expect(identityOf(last)).toBeUndefined();
  await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
