import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import { addMasterKey, openMasterKeyFile, pruneMasterKeys } from './master-key.ts';

const key = { id: 'dek_1', bytes: randomBytes(32) };
const place = { organizationId: 'org_1', table: 'secret_version', row: 'scv_1', column: 'envelope' };
const plain = Buffer.from('hunter2');

test('an envelope opens with its key for its location, and is new each time', () => {
  const envelope = sealEnvelope(key, place, plain);
  expect(openEnvelope(key, place, envelope)).toEqual(plain);
  expect(Buffer.from(envelope).includes(plain)).toBe(false);
  expect(sealEnvelope(key, place, plain)).not.toEqual(envelope);
  expect(openEnvelope(key, place, sealEnvelope(key, place, Buffer.alloc(0)))).toHaveLength(0);
});

test.each([
  ['organization', { ...place, organizationId: 'org_2' }],
  ['table', { ...place, table: 'data_key' }],
  ['row', { ...place, row: 'scv_2' }],
  ['column', { ...place, column: 'other' }],
])('it opens in no other %s', (_, other) => {
  expect(() => openEnvelope(key, other, sealEnvelope(key, place, plain))).toThrow(
    expect.objectContaining({ code: 'secret.undecryptable' }),
  );
});

test('one changed bit anywhere, another key or a shorter one is an error', () => {
  const envelope = sealEnvelope(key, place, plain);
  const refused = expect.objectContaining({ code: 'secret.undecryptable' });
  for (let index = 0; index < envelope.length; index += 1) {
    const changed = new Uint8Array(envelope);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => openEnvelope(key, place, changed), `byte ${index}`).toThrow(refused);
    expect(() => openEnvelope(key, place, envelope.subarray(0, index)), `${index} bytes`).toThrow(refused);
  }
  expect(() => openEnvelope({ ...key, bytes: randomBytes(32) }, place, envelope)).toThrow(refused);
  expect(() => openEnvelope({ ...key, id: 'dek_2' }, place, envelope)).toThrow(refused);
});

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'fairlead-master-'));
  path = join(dir, 'master-key');
  await writeFile(path, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
});
afterEach(() => rm(dir, { recursive: true }));

test('a master key file that is missing, readable by others, empty or corrupt stops the start, and is not printed', async () => {
  await expect(openMasterKeyFile(join(dir, 'none'))).rejects.toThrow(/Restore it from its backup/);
  await chmod(path, 0o640);
  await expect(openMasterKeyFile(path)).rejects.toThrow(/can be read by others/);
  await chmod(path, 0o600);
  await writeFile(path, '');
  await expect(openMasterKeyFile(path)).rejects.toThrow(/holds no key/);
  await writeFile(path, 'hunter2hunter2\n');
  const error = await openMasterKeyFile(path).catch((thrown: unknown) => thrown);
  expect(String(error)).toMatch(/not a key of 32 bytes/);
  expect(String(error)).not.toContain('hunter2');
});

test('a new master key wraps immediately, also in a running process; the older one still unwraps', async () => {
  const running = await openMasterKeyFile(path);
  const old = await running.wrap(place, plain);
  const id = await addMasterKey(path);
  const wrapped = await running.wrap(place, plain);
  expect([await running.keyId(), wrapped.keyId]).toEqual([id, id]);
  expect(Buffer.from(await running.unwrap(place, old))).toEqual(plain);
  expect(Buffer.from(await (await openMasterKeyFile(path)).unwrap(place, wrapped))).toEqual(plain);

  expect(await pruneMasterKeys(path, new Set([old.keyId]))).toEqual([]);
  expect(await pruneMasterKeys(path, new Set([id]))).toEqual([old.keyId]);
  expect((await readFile(path, 'utf8')).trim().split('\n')).toHaveLength(1);
  const fresh = await openMasterKeyFile(path);
  await expect(fresh.unwrap(place, old)).rejects.toMatchObject({ code: 'secret.undecryptable' });
});
