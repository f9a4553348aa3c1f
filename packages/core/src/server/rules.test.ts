import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { enrolmentCommand, isConnected, serverState } from './rules.ts';

const now = new Date('2026-11-20T12:00:00Z');
const ago = (ms: number): Date => new Date(now.getTime() - ms);

test('a server is online if its gateway saw it recently', () => {
  expect(isConnected({ connectedGateway: 'g1', lastSeenAt: ago(20_000) }, now)).toBe(true);
  expect(isConnected({ connectedGateway: 'g1', lastSeenAt: ago(120_000) }, now)).toBe(false);
  expect(isConnected({ connectedGateway: null, lastSeenAt: ago(1000) }, now)).toBe(false);
  expect(serverState({ connectedGateway: null, lastSeenAt: null }, now)).toBe('never_connected');
  expect(serverState({ connectedGateway: null, lastSeenAt: ago(1000) }, now)).toBe('offline');
});

test('the enrolment line is one that a shell reads as it is meant, and never has the token as an argument', () => {
  const command = enrolmentCommand({
    script: { url: "https://control.example.test/it's?a=1&b=$(id)", sha256: 'ab'.repeat(32), isTrusted: true },
    token: 'enrol_abc-DEF_1',
  });
  // Only checks the grammar: nothing is run.
  execFileSync('sh', ['-n', '-c', command]);
  expect(command).toContain(`'https://control.example.test/it'\\''s?a=1&b=$(id)'`);
  expect(command).toMatch(/ && FAIRLEAD_ENROL_TOKEN='enrol_abc-DEF_1' sh "\$d\/agent\.sh"$/);
});

test('the enrolment line runs the script that was checked, from a folder that only its user can write', () => {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-enrol-'));
  const script = `test "$(stat -c %a "$(dirname "$0")")" = 700 && printf '%s' "$FAIRLEAD_ENROL_TOKEN" > ran\n`;
  const sha256 = createHash('sha256').update(script).digest('hex');
  const [bin, here] = [join(dir, 'bin'), join(dir, 'here')];
  mkdirSync(bin);
  mkdirSync(here);
  writeFileSync(join(dir, 'served'), script);
  // Stands for the network: what curl would fetch.
  writeFileSync(join(bin, 'curl'), `#!/bin/sh\ncp '${join(dir, 'served')}' "$2"\n`, { mode: 0o755 });
  const run = (digest: string) =>
    execFileSync(
      'sh',
      ['-c', enrolmentCommand({ script: { url: 'https://x.test/', sha256: digest, isTrusted: false }, token: "it's" })],
      {
        cwd: here,
        stdio: 'ignore',
        env: { PATH: `${bin}:${process.env.PATH}`, TMPDIR: dir },
      },
    );
  try {
    expect(() => run('ab'.repeat(32))).toThrow();
    expect(readdirSync(here)).toEqual([]);
    run(sha256);
    expect(readdirSync(here)).toEqual(['ran']);
    expect(readFileSync(join(here, 'ran'), 'utf8')).toBe("it's");
  } finally {
    rmSync(dir, { recursive: true });
  }
});
