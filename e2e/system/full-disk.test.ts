// Tests of a full disk under the control plane's data: a first start says so in one line, apps stay up, no data is lost,
// and all works again once there is room. Needs root, for a disk in memory.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT, run } from '../../tools/lib/command.ts';
import { ADA, claimSetup, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePorts } from '../../tools/lib/free-ports.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { type ProductOptions, type RunningProduct, startProduct } from '../../tools/lib/running-product.ts';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { PORTS } from '../../tools/start/options.mjs';
import { AGENT_BINARY } from './harness/assemble.ts';

const ORGANIZATION = 'my-organization';
const ENOUGH = '4g';

let data: string;
let options: ProductOptions;
let product: RunningProduct | undefined;
const undo: Undo[] = [];

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-full-disk-'));
  undo.push(async () => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o711);
  data = join(folder, 'data');
  mkdirSync(data);
  await mount('-t', 'tmpfs', '-o', 'size=8m,mode=711', 'tmpfs', data);
  undo.push(async () => {
    await run('umount', [data]);
  });
  undo.push(async () => product?.stop());
  options = { data, ports: await freePorts(), agent: AGENT_BINARY };
});
afterAll(() => undoAll(undo));

async function mount(...args: readonly string[]): Promise<void> {
  const { code, output } = await run('mount', args);
  if (code !== 0) throw new Error(`mount failed: ${output}`);
}

const resize = (size: string) => mount('-o', `remount,size=${size}`, data);
const makeRoom = () => resize(ENOUGH);

/** Takes all free space away. */
async function fill(): Promise<void> {
  const { blocks, bfree, bsize } = statfsSync(data);
  await resize(String((blocks - bfree) * bsize));
}

function startAgain(): Promise<{ code: number; output: string }> {
  const { ports } = options;
  const flags = PORTS.flatMap(({ name, option }) => [`--${option}`, String(ports?.[name])]);
  return run(nodeOf(ROOT), [join(ROOT, 'tools/start.mjs'), '--data', data, '--agent', AGENT_BINARY, ...flags]);
}

async function expectAppLive(): Promise<void> {
  const { ports, caFile } = running();
  const answer = await requestPinned({ host: 'hello.localhost', port: ports.https, path: '/', caFile });
  expect(answer.status).toBe(200);
}

function running(): RunningProduct {
  if (product === undefined) throw new Error('nothing runs');
  return product;
}

async function projects(): Promise<string[]> {
  const dashboard = await signIn(running().url, ADA);
  const { items } = await dashboard.query<{ items: { name: string }[] }>('project.list', ORGANIZATION);
  return items.map(({ name }) => name).sort();
}

test('a first start on a full disk says so, and works once there is room', async () => {
  const { code, output } = await startAgain();
  expect([code, output.trimEnd().split('\n').at(-1)]).toEqual([
    1,
    expect.stringMatching(/^fairlead: the disk\b.* is full/i),
  ]);
  expect(output).not.toMatch(/^ +at /m);
  await makeRoom();
  product = await startProduct(options);
  if (product.setupToken === undefined) throw new Error('the summary names no token');
  await claimSetup(product.url, product.setupToken, ADA);
  const dashboard = await signIn(product.url, ADA);
  await dashboard.call('project.create', { name: 'Kept' }, ORGANIZATION);
});

test('while the disk is full apps stay up; once there is room, the dashboard is back with all data', async () => {
  const before = await projects();
  expect(before).toContain('Kept');
  await fill();
  const write = () => writeFileSync(join(data, 'probe'), Buffer.alloc(1024 * 1024));
  expect(write).toThrow('ENOSPC');
  const dashboard = await signIn(running().url, ADA).catch(() => null);
  const accepted: string[] = [];
  for (const name of Array.from({ length: 12 }, (_, at) => `Project ${at}`)) {
    await dashboard?.call('project.create', { name }, ORGANIZATION).then(
      () => accepted.push(name),
      () => undefined,
    );
  }
  await expectAppLive();
  expect(running().isAlive()).toBe(true);
  await makeRoom();
  const isBack = () =>
    projects().then(
      (names) => names.length > 0,
      () => false,
    );
  await waitFor(isBack, { what: 'the dashboard', timeoutMs: 90_000, everyMs: 500 });
  // Everything that was accepted is there, and nothing else.
  expect(await projects()).toEqual([...before, ...accepted].sort());
  await expectAppLive();
});
