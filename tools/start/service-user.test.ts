import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Folders, layOut, openData } from './folders.ts';
import { openSecrets } from './secrets.ts';
import { findServiceUser, giveData, giveSockets, shareAuthorities } from './service-user.ts';

const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
/** Only root can give files away; without it, the same steps run for its own user. */
const USER = self.uid === 0 ? { uid: 65_534, gid: 65_534 } : self;
let root: string;
let folders: Folders;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-service-user-'));
  folders = layOut(join(root, 'data'));
  openData(folders);
});
afterEach(() => rmSync(root, { recursive: true }));

const ownerOf = (path: string) => lstatSync(path).uid;

test('a user is found by its whole name', () => {
  const passwd = 'root:x:0:0::/root:/bin/sh\nfairlead-web:x:5:5::/:/bin/sh\nfairlead:x:990:991::/:/bin/false\n';
  expect(findServiceUser('fairlead', passwd)).toEqual({ uid: 990, gid: 991 });
  expect(() => findServiceUser('nobody-here', passwd)).toThrow('there is no user nobody-here');
});

test('the user owns its data, nothing that root runs, and nothing behind a link', () => {
  const outside = join(root, 'outside');
  writeFileSync(outside, 'mine');
  writeFileSync(join(folders.secrets, 'master-key'), 'key', { mode: 0o600 });
  symlinkSync(outside, join(folders.logStore, 'link'));
  mkdirSync(join(folders.logStore, 'artifacts'));
  const backups = join(root, 'backups');
  mkdirSync(backups);
  for (const name of ['fairlead-2026.data.age', 'other']) writeFileSync(join(backups, name), '');
  giveData(folders, { FAIRLEAD_BACKUP_FOLDER: backups }, USER);
  const { secrets, logStore, compileCache, backup } = folders;
  for (const path of [
    secrets,
    join(secrets, 'master-key'),
    logStore,
    join(logStore, 'artifacts'),
    compileCache,
    backup,
  ])
    expect(ownerOf(path), path).toBe(USER.uid);
  expect(ownerOf(join(backups, 'fairlead-2026.data.age'))).toBe(USER.uid);
  for (const path of [outside, join(backups, 'other'), folders.data, folders.agent, folders.bin, folders.runtime])
    expect(ownerOf(path), path).toBe(self.uid);
  // Root runs what is in its compile cache.
  for (const path of [folders.startCache, dirname(folders.startCache)]) expect(ownerOf(path), path).toBe(self.uid);
  // Root's recovery key for a backup by hand is given too.
  writeFileSync(join(secrets, 'recovery-recipient'), 'age1');
  giveData(folders, {}, USER);
  expect(ownerOf(join(secrets, 'recovery-recipient'))).toBe(USER.uid);
});

test('sockets and authorities are shared without giving the folders of the agent away', () => {
  giveSockets(folders, USER);
  expect(ownerOf(folders.controlSockets)).toBe(USER.uid);
  expect(ownerOf(folders.agent)).toBe(self.uid);
  shareAuthorities(folders, USER);
  const authority = join(folders.controlAuthorities, 'fairlead.example.com');
  mkdirSync(authority, { recursive: true, mode: 0o700 });
  writeFileSync(join(authority, 'ca.key'), 'key', { mode: 0o600 });
  chmodSync(folders.controlAuthorities, 0o700);
  shareAuthorities(folders, USER);
  expect(statSync(authority)).toMatchObject({ uid: self.uid, gid: USER.gid });
  expect(statSync(authority).mode & 0o777).toBe(0o750);
  expect(statSync(join(authority, 'ca.key')).mode & 0o777).toBe(0o640);
});

test('links of the user lead root nowhere when it creates secrets', () => {
  giveData(folders, {}, USER);
  const outside = join(root, 'outside');
  writeFileSync(outside, 'mine', { mode: 0o644 });
  symlinkSync(outside, join(folders.secrets, 'auth-secret.new'));
  const { authSecret, internalToken } = openSecrets(folders, undefined);
  expect(lstatSync(authSecret).isFile()).toBe(true);
  rmSync(internalToken);
  symlinkSync(outside, internalToken);
  expect(() => openSecrets(folders, undefined)).toThrow(`${internalToken} is a link`);
  expect(readFileSync(outside, 'utf8')).toBe('mine');
  expect(statSync(outside).mode & 0o777).toBe(0o644);
  // A key in a folder of the user may have become a link to another file of root.
  const key = join(folders.secrets, 'other-key');
  symlinkSync(outside, key);
  giveData(folders, { FAIRLEAD_MASTER_KEY_FILE: key }, USER);
  expect(ownerOf(outside)).toBe(self.uid);
});
