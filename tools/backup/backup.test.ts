// Backups of a control plane whose master key is outside of its data folder, for a recovery key that was made elsewhere.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '@fairlead/db/embedded';
import { withLock } from '@fairlead/db/lock';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort, freePorts } from '../lib/free-ports.ts';
import { ControlPlane } from '../start/control-plane.ts';
import { layOut, openData } from '../start/folders.ts';
import { openProduct } from '../start/product.ts';
import { Supervisor } from '../start/supervisor.ts';
import { newRecoveryKey } from './archive.ts';
import { backUp, pruneBackups } from './backup.ts';
import { restore } from './restore.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-backup-'));
  // As root, PostgreSQL runs under another account.
  chmodSync(root, 0o711);
});
afterEach(() => rmSync(root, { recursive: true }));

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

test('a restore brings back the rows and the master key from outside of the data folder', async () => {
  const masterKeyFile = join(root, 'mounted-key');
  const masterKey = `${Buffer.alloc(32, 7).toString('base64url')}\n`;
  writeFileSync(masterKeyFile, masterKey, { mode: 0o600 });
  const folders = layOut(join(root, 'data'));
  openData(folders);
  const controlPlane = await ControlPlane.open({
    folders,
    ports: await freePorts(),
    settings: { FAIRLEAD_MASTER_KEY_FILE: masterKeyFile },
    supervisor: new Supervisor({ logDir: folders.logs, recordFile: folders.record, note: () => undefined }),
    agentBinary: process.execPath,
    webServer: undefined,
    unsafeButFast: true,
  });
  const { databaseUrl } = controlPlane;
  await (await openProduct({ databaseUrl, organizationName: 'Kept', log })).close();
  const { identity, recipient } = await newRecoveryKey();
  const onNewRecoveryKey = () => {
    throw new Error('no recovery key may be made on this machine');
  };
  const wish = { folders, databaseUrl, to: join(root, 'backups'), recipient, onNewRecoveryKey };
  const missing = { ...wish, masterKeyFile: join(root, 'absent'), now: new Date('2026-01-01T00:00:00Z') };
  await expect(backUp(missing)).rejects.toThrow(
    /the backup would lack the master key: .*absent cannot be read \(ENOENT\)/,
  );
  const within = { ...wish, to: join(folders.logStore, 'backups'), masterKeyFile, now: new Date() };
  await expect(backUp(within)).rejects.toThrow('is inside the data folder');
  const wrong = { ...wish, recipient: 'age1wrong', masterKeyFile, now: new Date('2026-01-01T00:00:01Z') };
  await expect(backUp(wrong)).rejects.toThrow('that is not a public recovery key');
  expect(readdirSync(wish.to)).toEqual([]);
  await expect(backUp({ ...wish, now: new Date('2026-01-01T00:00:02Z') })).rejects.toThrow(
    /the backup would lack the master key: .*secrets\/master-key does not exist/,
  );
  const busy = await withLock(databaseUrl, 'backup', () =>
    backUp({ ...wish, masterKeyFile, now: new Date() }).catch((error: Error) => error.message),
  );
  expect(busy).toBe('another backup is being made');
  // A backup that was killed leaves this.
  mkdirSync(join(folders.data, 'backup/database'), { recursive: true });
  writeFileSync(join(folders.data, 'backup/database/public.gone'), 'a table that no longer exists');
  const backup = await backUp({ ...wish, masterKeyFile, now: new Date() });
  expect(readdirSync(join(folders.data, 'backup'))).toEqual([]);
  expect(backup.sizeBytes).toBe(statSync(backup.dataFile).size + statSync(backup.keysFile).size);
  await controlPlane.stopDatabase();
  expect(existsSync(join(folders.secrets, 'recovery-recipient'))).toBe(false);

  const empty = layOut(join(root, 'restored'));
  openData(empty);
  const server = await startEmbedded({ dataDir: empty.postgres, port: await freePort(), log: () => undefined });
  try {
    await restore({ folders: empty, databaseUrl: server.url, ...backup, recoveryKey: identity, log });
    const product = await openProduct({ databaseUrl: server.url, organizationName: 'Other', log });
    const names = await product.database.system('a test', (tx) => tx.organization.findMany({ select: { name: true } }));
    await product.close();
    expect(names).toEqual([{ name: 'Kept' }]);
  } finally {
    await server.stop();
  }
  expect(readFileSync(join(empty.secrets, 'master-key'), 'utf8')).toBe(masterKey);
  expect(readdirSync(empty.secrets)).toEqual(expect.arrayContaining(['auth-secret', 'internal-token']));
}, 120_000);

test('the backup of a worker that is gone ends', async () => {
  // A database that never answers.
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const script = fileURLToPath(new URL('run.ts', import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script]);
  const ended = once(child, 'exit');
  const to = join(root, 'backups');
  const databaseUrl = `postgres://127.0.0.1:${port}/x`;
  const request = { dataDir: join(root, 'data'), databaseUrl, masterKeyFile: script, to, keep: 1 };
  const { recipient } = await newRecoveryKey();
  child.stdin.write(`${JSON.stringify({ ...request, recipient })}\n`);
  const [connection] = await once(silent, 'connection');
  child.stdin.end();
  expect(await ended).toEqual([1, null]);
  expect(readdirSync(to)).toEqual([]);
  connection.destroy();
  silent.close();
});

test('a folder that is read-only is a failure that says how to allow it', async () => {
  const script = fileURLToPath(new URL('run.ts', import.meta.url));
  const folder = join(root, 'mounted');
  mkdirSync(folder);
  const { recipient } = await newRecoveryKey();
  const fail = async (to: string) => {
    const request = {
      dataDir: join(root, 'data'),
      databaseUrl: 'postgres://127.0.0.1:1/x',
      masterKeyFile: script,
      keep: 1,
    };
    const mounted = 'mount -t tmpfs -o ro tmpfs "$0" && exec "$1" --disable-warning=ExperimentalWarning "$2"';
    const child = spawn('unshare', [
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      mounted,
      folder,
      process.execPath,
      script,
    ]);
    child.stdin.write(`${JSON.stringify({ ...request, to, recipient })}\n`);
    return JSON.parse(await text(child.stdout));
  };
  for (const to of [folder, join(folder, 'absent')]) {
    const failure = `${to} cannot be written: it is read-only for Fairlead, or does not exist. Under systemd, run systemctl edit fairlead and add ReadWritePaths=${to}.`;
    expect(await fail(to)).toEqual({ failure });
  }
});

test('only the newest backups stay, and no other file of the folder is deleted', () => {
  const times = ['2026-01-01T00-00-00-000Z', '2026-01-02T00-00-00-000Z', '2026-01-03T00-00-00-000Z'];
  const files = times.flatMap((time) => [`fairlead-${time}.data.age`, `fairlead-${time}.keys.age`]);
  // Two backups that were killed, and one that is being made.
  const killed = ['fairlead-2026-01-02T12-00-00-000Z.data.age', 'fairlead-2025-12-31T00-00-00-000Z.data.age.partial'];
  const others = ['fairlead-notes.txt', 'photos.data.age', 'fairlead-2026-01-04T00-00-00-000Z.data.age'];
  for (const file of [...files, ...killed, ...others]) writeFileSync(join(root, file), '');
  expect(pruneBackups(root, 2)).toBe(1);
  expect(readdirSync(root).sort()).toEqual([...files.slice(2), ...others].sort());
  expect(pruneBackups(root, 2)).toBe(0);
});
