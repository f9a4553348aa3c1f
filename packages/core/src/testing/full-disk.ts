// Fills a small disk and tries uploads, logs and other writes on it. A program of its own, which full-disk.test.ts runs in
// a mount namespace. Prints what happened as JSON.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createFolderArtifactStore } from '../artifact/index.ts';
import { listShortDisks } from '../control-plane/index.ts';
import { freeDiskBytes, readDisk } from '../kernel/index.ts';
import { createFolderLogStore } from '../log/index.ts';

const mebibyte = 1024 ** 2;
const [dir = ''] = process.argv.slice(2);
const freeBytesMin = freeDiskBytes;
const artifacts = createFolderArtifactStore(join(dir, 'artifacts'), { freeBytesMin });
const logs = createFolderLogStore(dir, { freeBytesMin });

async function upload(mebibytes: number): Promise<string> {
  const parts = Array.from({ length: mebibytes }, (_, index) => Buffer.alloc(mebibyte, index));
  return (await artifacts.add('org_1', Readable.from(parts))).kind;
}

async function look() {
  const { freeBytes } = await readDisk(dir);
  const warnings = await listShortDisks([dir, join(dir, 'artifacts'), join(dir, 'missing')], freeBytesMin);
  return { freeMebibytes: freeBytes / mebibyte, logs: await logs.hasRoom(), warnings };
}

const small = await upload(1);
const atFirst = await look();
const large = await upload(80);
const afterLarge = await look();
const free = Math.floor(afterLarge.freeMebibytes);
await writeFile(join(dir, 'filler'), Buffer.alloc((free - 2) * mebibyte));
const whenShort = await look();
const refused = await upload(1);
await writeFile(join(dir, 'database'), Buffer.alloc(mebibyte));
process.stdout.write(JSON.stringify({ small, atFirst, large, afterLarge, whenShort, refused }));
