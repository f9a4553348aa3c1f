// Tests of the first half of `npm start`: missing programs and a broken lock file end it in one line that says what to do.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ROOT, run } from './command.ts';
import { installDependencies, nodeOf } from './install.mjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-install-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts with nothing but these programs on the PATH; each of them only succeeds. */
function startWith(programs: readonly string[], ...args: readonly string[]) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const program of programs) symlinkSync('/bin/true', join(bin, program));
  return run(nodeOf(ROOT), [join(ROOT, 'tools/start.mjs'), '--data', join(folder, 'data'), ...args], {
    env: { PATH: bin },
  });
}

test.each([
  ['git', ['npm', 'cargo', 'cc'], 'git is missing: install it with apt-get install git'],
  ['cargo', ['git', 'npm', 'cc'], 'cargo is missing: install Rust from https://rustup.rs'],
  ['cc', ['git', 'npm', 'cargo'], 'cc is missing: install a C compiler with apt-get install build-essential'],
  ['npm', ['git', 'cargo', 'cc'], 'npm is missing: install npm beside Node'],
])('a start without %s names it and how to install it', async (_, programs, line) => {
  expect(await startWith(programs)).toMatchObject({ code: 1, output: `fairlead: ${line}\n` });
});

test.each([
  ['', 'is broken'],
  ['{"packages"', 'is broken'],
  ['null', 'is broken'],
  ['{"lockfileVersion": 3}', 'it lists no packages'],
  [undefined, 'is missing'],
])('a broken package-lock.json is named with the way to restore it: %j', async (text, words) => {
  if (text !== undefined) writeFileSync(join(folder, 'package-lock.json'), text);
  const install = installDependencies(folder);
  await expect(install).rejects.toThrow(words);
  await expect(install).rejects.toThrow('restore it with git checkout package-lock.json');
});
