import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { enrolmentCommand, isConnected, serverState } from './rules.ts';

const now = new Date('2026-11-20T12:00:00Z');
const ago = (ms: number): Date => new Date(now.getTime() - ms);

test('a server is online while its gateway heard of it lately', () => {
  expect(isConnected({ connectedGateway: 'g1', lastSeenAt: ago(20_000) }, now)).toBe(true);
  expect(isConnected({ connectedGateway: 'g1', lastSeenAt: ago(120_000) }, now)).toBe(false);
  expect(isConnected({ connectedGateway: null, lastSeenAt: ago(1000) }, now)).toBe(false);
  expect(serverState({ connectedGateway: null, lastSeenAt: null }, now)).toBe('never_connected');
  expect(serverState({ connectedGateway: null, lastSeenAt: ago(1000) }, now)).toBe('offline');
});

test('the enrolment line is one that a shell reads as it is meant, and never has the token as an argument', () => {
  const command = enrolmentCommand({
    script: { url: "https://control.example.test/it's?a=1&b=$(id)", sha256: 'ab'.repeat(32) },
    token: 'enrol_abc-DEF_1',
  });
  // Only checks the grammar: nothing is run.
  execFileSync('sh', ['-n', '-c', command]);
  expect(command).toContain(`'https://control.example.test/it'\\''s?a=1&b=$(id)'`);
  expect(command).toMatch(/ && FAIRLEAD_ENROL_TOKEN='enrol_abc-DEF_1' sh fairlead-agent\.sh$/);
});
