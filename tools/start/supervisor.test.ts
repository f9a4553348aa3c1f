import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { endProcess, identityOf, isAlive } from '../lib/process-identity.ts';
import { waitFor } from '../lib/wait.ts';
import { endLeftovers, type Service, ServiceFailed, Supervisor } from './supervisor.ts';

const FOREVER = "process.stdout.write('up\\n'); setInterval(() => undefined, 60_000)";

let folder: string;
let supervisor: Supervisor;
let notes: string[];
const record = () => join(folder, 'run/processes.json');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-supervisor-'));
  notes = [];
  supervisor = new Supervisor({ logDir: join(folder, 'logs'), recordFile: record(), note: (line) => notes.push(line) });
});
afterEach(async () => {
  await supervisor.stop('service');
  rmSync(folder, { recursive: true });
});

function service(code: string): Service {
  return {
    name: 'service',
    command: process.execPath,
    args: ['-e', code],
    env: {},
    cwd: folder,
    ready: async () => readFileSync(supervisor.logFile('service'), 'utf8').includes('up\n'),
    readyTimeoutMs: 10_000,
    stopTimeoutMs: 2000,
  };
}

function pidOf(name: string): number {
  const pid = supervisor.pid(name);
  if (pid === undefined) throw new Error(`${name} does not run`);
  return pid;
}

test('a service that dies is restarted, and one that was stopped is not', async () => {
  await supervisor.start(service(FOREVER));
  const first = pidOf('service');
  process.kill(first, 'SIGKILL');
  await waitFor(() => supervisor.pid('service') !== undefined && supervisor.pid('service') !== first, {
    what: 'a restart',
    timeoutMs: 10_000,
  });
  expect(notes).toEqual([expect.stringContaining('service ended by SIGKILL')]);

  const second = identityOf(pidOf('service'));
  await supervisor.stop('service');
  expect(second && isAlive(second)).toBe(false);
  expect(supervisor.pid('service')).toBeUndefined();
});

test('a service that ends before it is ready fails the start with the end of its log', async () => {
  const failing = service("console.error('no rope'); process.exit(4)");
  await expect(supervisor.start(failing)).rejects.toThrow(ServiceFailed);
  await expect(supervisor.start(failing)).rejects.toThrow('no rope');
});

test('a service that ignores SIGTERM is killed', async () => {
  await supervisor.start({ ...service(`process.on('SIGTERM', () => undefined); ${FOREVER}`), stopTimeoutMs: 200 });
  const identity = identityOf(pidOf('service'));
  await supervisor.stop('service');
  await waitFor(() => identity !== undefined && !isAlive(identity), { what: 'the end', timeoutMs: 5000 });
});

test('leftovers are ended by pid and start time; a reused pid is left alone', async () => {
  const child = spawn(process.execPath, ['-e', FOREVER], { detached: true, stdio: 'ignore' });
  const left = child.pid === undefined ? undefined : identityOf(child.pid);
  if (left === undefined) throw new Error('the leftover did not start');
  const stranger = { pid: process.pid, startTicks: '1' };
  writeFileSync(record(), JSON.stringify({ supervisor: stranger, processes: { left, stranger } }));
  expect(await endLeftovers(record())).toEqual({ kind: 'ended', names: ['left'] });
  expect(isAlive(left)).toBe(false);
  expect(await endLeftovers(record())).toEqual({ kind: 'none' });
});

test.each(['', 'garbage', 'null', '[]', '{}', '{"supervisor":{"pid":"1"},"processes":{}}', '{"processes":{"a":7}}'])(
  'a broken record ends nothing and hinders no start: %j',
  async (text) => {
    writeFileSync(record(), text);
    expect(await endLeftovers(record())).toEqual({ kind: 'none' });
    await supervisor.start(service(FOREVER));
    expect(pidOf('service')).toBeGreaterThan(0);
    await supervisor.stop('service');
  },
);

test('a running supervisor keeps its folder', async () => {
  const other = identityOf(process.ppid);
  writeFileSync(record(), JSON.stringify({ supervisor: other, processes: {} }));
  expect(await endLeftovers(record())).toMatchObject({ kind: 'running' });
  expect(other && isAlive(other)).toBe(true);
});

test('ending a process that is gone does nothing', async () => {
  await endProcess({ pid: process.pid, startTicks: '1' }, 'SIGKILL', 10);
  expect(identityOf(process.pid)).toBeDefined();
});
