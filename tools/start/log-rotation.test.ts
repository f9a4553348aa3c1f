import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rotateLogs } from './log-rotation.ts';

let folder: string;
let log: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-rotation-'));
  log = join(folder, 'service.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (suffix = '') => readFileSync(log + suffix, 'utf8');

test('a running process goes on in the emptied log, and no line is lost or doubled', async () => {
  const handle = openSync(log, 'a', 0o600);
  const code =
    "process.stdin.on('data', (line) => require('node:fs').writeSync(1, line)).on('end', () => process.exit())";
  const child = spawn(process.execPath, ['-e', code], { stdio: ['pipe', handle, 'inherit'] });
  child.stdin?.write('one\n');
  while (!read().includes('one')) await new Promise(setImmediate);
  rotateLogs(folder, { bytesMax: 1 });
  expect([read(), read('.1')]).toEqual(['', 'one\n']);
  child.stdin?.end('two\n');
  await once(child, 'exit');
  expect([read(), read('.1')]).toEqual(['two\n', 'one\n']);
});

test('a small log stays; of a large one, only the newest files are kept', () => {
  writeFileSync(log, 'a\n');
  rotateLogs(folder, { bytesMax: 10 });
  expect(readdirSync(folder)).toEqual(['service.log']);
  for (const line of ['b', 'c', 'd']) {
    appendFileSync(log, `${line}\n`);
    rotateLogs(folder, { bytesMax: 1, kept: 2 });
  }
  expect(readdirSync(folder).sort()).toEqual(['service.log', 'service.log.1', 'service.log.2']);
  expect([read(), read('.1'), read('.2')]).toEqual(['', 'd\n', 'c\n']);
});
