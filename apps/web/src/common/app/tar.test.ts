// Tests of the tar writer against the tar program of this machine.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packTarGz } from './tar.ts';

const files: Readonly<Record<string, string>> = {
  'package.json': '{}',
  'src/größe.txt': 'ä'.repeat(300),
  'src/block.bin': 'x'.repeat(1024),
  empty: '',
  [`${'deep/'.repeat(30)}ü.txt`]: 'far down',
  // The pax record is 99 bytes without the digits of its own length, and has three digits with them.
  [`a/${'b'.repeat(110)}`]: 'long',
};

test('every file comes out with its whole path and its bytes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-tar-'));
  try {
    const entries = Object.entries(files).map(([path, text]) => ({ path, file: new Blob([text]) }));
    const packed = Buffer.from(await new Response(packTarGz(entries)).arrayBuffer());
    expect([...packed.subarray(0, 2)]).toEqual([0x1f, 0x8b]);
    writeFileSync(join(folder, 'packed.tar.gz'), packed);
    execFileSync('tar', ['-xzf', 'packed.tar.gz'], { cwd: folder, env: { ...process.env, LC_ALL: 'C.UTF-8' } });
    rmSync(join(folder, 'packed.tar.gz'));
    const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    const unpacked = found.map(({ parentPath, name }) => join(parentPath, name));
    expect(
      Object.fromEntries(unpacked.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')])),
    ).toEqual(files);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a file is executable unless its mode says otherwise', async () => {
  const entries = [
    { path: 'picked', file: new Blob(['1']) },
    { path: 'run.sh', file: new Blob(['1']), mode: 0o755 },
    { path: 'page.html', file: new Blob(['1']), mode: 0o644 },
  ];
  const packed = await new Response(packTarGz(entries)).arrayBuffer();
  const listed = execFileSync('tar', ['-tvzf', '-'], { input: Buffer.from(packed), encoding: 'utf8' });
  expect(listed.split('\n').map((line) => line.slice(0, 10))).toEqual(['-rwxr-xr-x', '-rwxr-xr-x', '-rw-r--r--', '']);
});

test('a pax record counts its own digits at every length', async () => {
  for (let length = 101; length < 130; length += 1) {
    const path = 'n'.repeat(length);
    const packed = await new Response(packTarGz([{ path, file: new Blob(['1']) }])).blob();
    const tar = await new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).text();
    const record = tar.slice(512, tar.indexOf('\n', 512) + 1);
    expect(Number.parseInt(record, 10)).toBe(record.length);
  }
});
