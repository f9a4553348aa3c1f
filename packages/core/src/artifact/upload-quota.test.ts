// Disk reserve under many concurrent uploads, on a simulated disk.
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createUploadQuotas } from './upload-quota.ts';

const MiB = 1024 ** 2;
const chunk = MiB;
const freeBytesMin = 2048 * MiB;

/** Runs concurrent uploads of 40 organizations; returns the free bytes on the disk at the end. */
async function uploadAtOnce(spare: number, reserves: boolean, others = 0): Promise<number> {
  let free = freeBytesMin + spare;
  const bounds = { organizationBytesMax: 1e15, organizationFilesMax: 10, uploadsMax: 1, freeBytesMin };
  const freeBytes = async () => {
    const measured = free;
    await setImmediate();
    return measured;
  };
  const roomBytes = async () => (await freeBytes()) - freeBytesMin;
  const enter = createUploadQuotas({ bounds, roomBytes, bytesOf: async () => 0, filesOf: async () => 0 });
  const upload = async (organizationId: string) => {
    const room = enter(organizationId);
    // Without reservations each upload measures for itself, and again after 64 MiB.
    let measured = (await freeBytes()) - freeBytesMin;
    for (let at = 0; at < 128; at += 1) {
      if (at === 64) measured = (await freeBytes()) - freeBytesMin;
      if (reserves ? !(await room?.reserve(chunk)) : ((at % 64) + 1) * chunk > measured) break;
      await setImmediate();
      free -= chunk;
      room?.settle(chunk);
    }
    room?.end();
  };
  const other = async () => {
    for (let left = others; left > 0; left -= 20) {
      await setImmediate();
      free -= 20 * chunk;
    }
  };
  await Promise.all([...Array.from({ length: 40 }, (_, at) => upload(`org_${at}`)), other()]);
  return free;
}

test('concurrent uploads leave the reserve of the disk free and use the rest', async () => {
  expect(await uploadAtOnce(64 * MiB, false)).toBeLessThan(freeBytesMin);
  expect(await uploadAtOnce(64 * MiB, true)).toBe(freeBytesMin);
  expect(await uploadAtOnce(1000 * MiB, true)).toBe(freeBytesMin);
  expect(await uploadAtOnce(0, true)).toBe(freeBytesMin);
});

test('writes of other processes are seen at the next measurement', async () => {
  const free = await uploadAtOnce(1000 * MiB, true, 200);
  expect(free).toBeGreaterThanOrEqual(freeBytesMin - 64 * MiB);
  expect(free).toBeLessThanOrEqual(freeBytesMin);
});
