// Tests that every template is there and is packed reproducibly, with the modes of its files.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TemplateId, templateFolder, templates } from '@fairlead/core/template';
import { expect, test } from 'vitest';
import { createTemplatePacker } from './template-packer.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../examples');

async function pack(template: TemplateId, folder = EXAMPLES): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of createTemplatePacker(folder)(template)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function list(packed: Buffer): string[] {
  return execFileSync('tar', ['-tzf', '-'], { input: packed, encoding: 'utf8' }).trim().split('\n');
}

test.each(templates)('$title has all files of its example', async ({ id }) => {
  const tracked = execFileSync('git', ['ls-files'], { cwd: join(EXAMPLES, templateFolder(id)), encoding: 'utf8' });
  expect(list(await pack(id))).toEqual(tracked.trim().split('\n').sort());
});

test('the bytes depend on names, modes and contents only', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-templates-'));
  try {
    cpSync(join(EXAMPLES, 'hello-node'), join(folder, 'hello-node'), { recursive: true });
    const program = join(folder, 'hello-node/server.js');
    utimesSync(program, 1, 1);
    expect((await pack('node', folder)).equals(await pack('node'))).toBe(true);
    chmodSync(program, 0o744);
    const listed = execFileSync('tar', ['-tvzf', '-', 'server.js'], { input: await pack('node', folder) });
    expect(listed.toString()).toMatch(/^-rwxr-xr-x /);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
