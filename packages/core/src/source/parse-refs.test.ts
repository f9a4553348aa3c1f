import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseRefs } from './parse-refs.ts';

const packet = (line: string) => `${(Buffer.byteLength(line) + 4).toString(16).padStart(4, '0')}${line}`;
const opening = `${packet('# service=git-upload-pack\n')}0000`;

test('branches and the default one are parsed from git’s own output', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-refs-'));
  try {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.test', '-C', folder, ...args]);
    git('init', '--quiet', '--initial-branch=trunk');
    git('commit', '--quiet', '--allow-empty', '--message=First');
    git('branch', 'feature/größe');
    git('tag', 'v1');
    const advertised = git('upload-pack', '--advertise-refs', '--http-backend-info-refs', folder);
    expect(parseRefs(Buffer.concat([Buffer.from(opening), advertised]))).toEqual({
      branches: ['feature/größe', 'trunk'],
      defaultBranch: 'trunk',
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ['nothing', ''],
  ['a page', '<!doctype html><title>Sign in</title>'],
  ['another service', `${packet('# service=git-receive-pack\n')}0000`],
  ['a line that is shorter than it says', `${opening}00ffabc`],
  ['a length below its own', `${opening}0003`],
])('%s is no repository', (_what, text) => expect(parseRefs(Buffer.from(text))).toBeNull());

test('an empty repository has no branch, and a list has an end', () => {
  expect(parseRefs(Buffer.from(`${opening}0000`))).toEqual({ branches: [], defaultBranch: null });
  const many = Array.from({ length: 3000 }, (_, index) => packet(`${'a'.repeat(40)} refs/heads/b${index}\n`)).join('');
  expect(parseRefs(Buffer.from(`${opening}${many}0000`))?.branches).toHaveLength(1000);
});
