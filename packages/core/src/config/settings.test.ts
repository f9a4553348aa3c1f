import { expect, test } from 'vitest';
import { diffSettings } from './diff-settings.ts';
import { runCommandsIn, settingsInEffect, variablesIn } from './rules.ts';
import { settingsSchema, variablesSchema } from './schema.ts';

test('a plain string has both scopes, like every variable stored before scopes existed', () => {
  const variables = {
    PLAIN: 'a',
    BOTH: { value: 'b' },
    BUILD: { value: 'c', scope: 'build' },
    RUN: { value: 'd', scope: 'run' },
  };
  const settings = settingsSchema.parse({ variables });
  expect(settings.variables.PLAIN).toEqual({ value: 'a', scope: 'both' });
  expect(variablesIn(settings, 'build')).toEqual({ PLAIN: 'a', BOTH: 'b', BUILD: 'c' });
  expect(variablesIn(settings, 'run')).toEqual({ PLAIN: 'a', BOTH: 'b', RUN: 'd' });
  expect(settingsSchema.parse(settings), 'what is stored is read as it is').toEqual(settings);
});

test.each([
  ['a name with a dash', { 'A-B': 'x' }],
  ['a name of Fairlead', { FAIRLEAD_URL: 'x' }],
  ['another name of Fairlead', { PORT: { value: '1', scope: 'build' } }],
  ['a NUL', { A: 'a\0b' }],
  ['a text that is too long', { A: { value: 'x'.repeat(16_385) } }],
  ['another scope', { A: { value: 'x', scope: 'never' } }],
  ['a number', { A: 1 }],
])('%s is refused with its name', (_what, variables) => {
  const { error } = variablesSchema.safeParse(variables);
  expect(error?.issues[0]?.path[0]).toBe(Object.keys(variables)[0]);
  expect(error?.issues[0]?.message).toMatch(/^[A-Z].*\.$|^Invalid option/);
});

test('a difference names the scope of a variable', () => {
  const of = (scope: string) => settingsSchema.parse({ variables: { A: { value: 'x', scope } } });
  expect(diffSettings(of('both'), of('build'))).toEqual([
    { name: 'variables.A', before: 'x', after: 'x (build only)' },
  ]);
});

test('a difference shows commands as lines', () => {
  const command = 'npm run migrate && npm run seed';
  const before = settingsSchema.parse({ startCommand: 'node server.js' });
  const after = settingsSchema.parse({ startCommand: 'exec node server.js', releaseCommand: { command } });
  expect(diffSettings(before, after)).toEqual([
    { name: 'releaseCommand', before: null, after: JSON.stringify({ command, timeoutMs: 600_000 }) },
    { name: 'startCommand', before: 'node server.js', after: 'exec node server.js' },
  ]);
});

test('an artifact’s commands are those of all environments, without its plan’s', () => {
  const start = ['node', 'server.js'];
  const production = settingsSchema.parse({
    startCommand: start,
    workers: [{ name: 'mail', command: ['tsx', 'mail.ts'] }],
    releaseCommand: { command: ['npx', 'prisma', 'migrate', 'deploy'] },
    postReleaseCommand: { command: ['sh', '-c', 'echo "$PORT"'] },
    readinessCheck: { kind: 'command', command: ['check'] },
    livenessCheck: { kind: 'http', path: '/' },
    variables: { NODE_OPTIONS: '-r ./trace.js', OTHER: 'a' },
  });
  const staging = settingsSchema.parse({
    startCommand: ['tsx', 'server.ts'],
    releaseCommand: production.releaseCommand,
  });
  expect(runCommandsIn([production, staging, settingsSchema.parse({})], start)).toEqual([
    'tsx mail.ts',
    'npx prisma migrate deploy',
    'echo "$PORT"',
    'check',
    'tsx server.ts',
    '-r ./trace.js',
  ]);
});

test('settings in effect are those of the release, with the newest that wait for no deployment', () => {
  const ofRelease = settingsSchema.parse({
    stopTimeoutMs: 1000,
    volumes: [
      { name: 'data', path: '/data' },
      { name: 'gone', path: '/gone' },
    ],
  });
  const newest = settingsSchema.parse({
    stopTimeoutMs: 2000,
    autoscaling: { instancesMin: 0, instancesMax: 2 },
    traffic: { queueLengthMax: 5 },
    deploymentUrls: false,
    volumes: [{ name: 'data', path: '/other', snapshots: 'daily' }],
  });
  expect(settingsInEffect(ofRelease, newest)).toEqual({
    ...newest,
    stopTimeoutMs: 1000,
    volumes: [
      { name: 'data', path: '/data', snapshots: 'daily' },
      { name: 'gone', path: '/gone', snapshots: 'off' },
    ],
  });
});
