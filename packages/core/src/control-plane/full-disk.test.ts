// Guard of the control plane's disk, on a tmpfs of 64 MiB: 5 % of it (3.2 MiB) stay free.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../testing/full-disk.ts', import.meta.url));
const mounted = 'mount -t tmpfs -o size=64m tmpfs "$0" && exec "$1" "$2" "$0"';

test('uploads and logs stop before the disk is full, with a warning, and the database can still write', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-full-disk-'));
  const args = ['--map-root-user', '--mount', 'sh', '-c', mounted, dir, process.execPath, script];
  const { stdout } = await promisify(execFile)('unshare', args);
  await rm(dir, { recursive: true });
  const { small, atFirst, large, afterLarge, whenShort, refused } = JSON.parse(stdout);
  expect([small, large, refused]).toEqual(['whole', 'no_room', 'no_room']);
  expect(atFirst).toMatchObject({ logs: true, warnings: [] });
  expect(afterLarge.freeMebibytes).toBeGreaterThan(3.2);
  expect(whenShort).toMatchObject({ logs: false, warnings: [{ kind: 'disk_short' }] });
  expect(whenShort.warnings[0].title).toMatch(/^The control plane's disk is nearly full: [12] MiB free on \//);
  expect(whenShort.warnings[0].detail).toContain('until 3 MiB are free');
});
