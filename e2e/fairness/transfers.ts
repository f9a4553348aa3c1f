// Transfer suite: bodies of many sizes in both directions, by four clients, through tiny to huge windows, verified by
// digest.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync, mkdirSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from '../../tools/lib/command.ts';
import { requirePrograms } from '../../tools/test/debian.ts';
import type { Protocol } from '../perf/cells.ts';
import type { Running } from '../perf/peer.ts';
import { cacheFolder } from '../protocols/folders.ts';
import type { Testbed } from './testbed.ts';

const AIOQUIC = 'aioquic==1.3.0';
const H2LOAD = { file: '/usr/bin/h2load', packages: ['nghttp2-client'] };
const CURL = { file: '/usr/bin/curl', packages: ['curl'] };
const HOST = 'bench.localhost';
const LIMIT_SECONDS = 120;
const H2LOAD_STREAMS = 4;

/** Flow-control windows of a stream and of the connection in bytes; zero keeps the client's default. */
interface Windows {
  readonly stream: number;
  readonly connection: number;
}

const OWN: Windows = { stream: 0, connection: 0 };
/** A small connection window splits writes in the middle of an application buffer. */
const NARROW: Windows = { stream: 1 << 20, connection: 20_000 };
const TINY: Windows = { stream: 16_384, connection: 16_384 };
const HUGE: Windows = { stream: 1 << 26, connection: 1 << 27 };

export interface Transfer {
  readonly client: 'curl' | 'go' | 'h2load' | 'aioquic';
  readonly protocol: Protocol;
  readonly up: boolean;
  readonly bytes: number;
  readonly windows: Windows;
}

const GB = 1_000_000_000;

function sizesOf(client: Transfer['client'], windows: Windows, long: boolean): readonly number[] {
  if (!long) return windows === HUGE ? [20_000_003] : [1, 3_000_001];
  // A gigabyte takes minutes in Python, and so does one in pieces of 16 KiB.
  const most = client === 'aioquic' ? 20_000_003 : windows === TINY || windows === NARROW ? 100_000_007 : GB;
  return [1, 999, 65_536, 1_000_003, 20_000_003, 100_000_007, GB].filter((bytes) => bytes <= most);
}

export function transfers(long: boolean): Transfer[] {
  const kinds: readonly (readonly [Transfer['client'], readonly Protocol[], readonly Windows[]])[] = [
    ['curl', ['http1', 'http2'], [OWN]],
    ['go', ['http1', 'http2', 'http3'], [OWN, NARROW, TINY, HUGE]],
    ['h2load', ['http2'], [TINY, HUGE]],
    ['aioquic', ['http3'], [OWN, NARROW]],
  ];
  return kinds.flatMap(([client, protocols, windows]) =>
    protocols.flatMap((protocol) =>
      windows.flatMap((window) =>
        sizesOf(client, window, long).flatMap((bytes) =>
          [false, true].map((up) => ({ client, protocol, up, bytes, windows: window })),
        ),
      ),
    ),
  );
}

export function nameOf({ client, protocol, up, bytes, windows }: Transfer): string {
  const window = windows === OWN ? 'own windows' : `windows ${windows.stream}/${windows.connection}`;
  return `${client} ${protocol} ${up ? 'up' : 'down'} ${bytes} B, ${window}`;
}

export interface TransferClients {
  readonly python: { readonly modules: string };
}

/** Installs the clients' dependencies from Debian and the Python Package Index; throws if that fails. */
export async function obtainClients(): Promise<TransferClients> {
  const missing = await requirePrograms([CURL, H2LOAD]);
  if (missing !== undefined) throw new Error(missing);
  const modules = join(cacheFolder(AIOQUIC), 'modules');
  if (!existsSync(join(modules, 'aioquic'))) {
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', modules, AIOQUIC];
    const { code, output } = await run('python3', args);
    if (code !== 0) throw new Error(`pip could not install ${AIOQUIC}:\n${output.trimEnd()}`);
  }
  return { python: { modules } };
}

/** Returns why a transfer is broken; undefined if it is complete. */
export async function runTransfer(
  testbed: Testbed,
  running: Running,
  clients: TransferClients,
  transfer: Transfer,
): Promise<string | undefined> {
  const expected = await digestOf(testbed, transfer.bytes);
  switch (transfer.client) {
    case 'go':
      return byGo(testbed, running, transfer);
    case 'curl':
      return byCurl(testbed, running, transfer, expected);
    case 'h2load':
      return byH2load(testbed, running, transfer, expected);
    case 'aioquic':
      return byAioquic(testbed, running, clients, transfer, expected);
  }
}

const digests = new Map<number, string>();

async function digestOf(testbed: Testbed, bytes: number): Promise<string> {
  const known = digests.get(bytes);
  if (known !== undefined) return known;
  const digest = await (await fetch(`http://${testbed.app.address}/digest/${bytes}`)).text();
  digests.set(bytes, digest);
  return digest;
}

/** Writes a file with the app's bytes. */
async function fileOf(testbed: Testbed, bytes: number): Promise<string> {
  const folder = join(testbed.folder, 'bodies');
  const file = join(folder, `${bytes}`);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const [answer] = (await once(get(`http://${testbed.app.address}/bytes/${bytes}`), 'response')) as [IncomingMessage];
  await pipeline(answer, createWriteStream(file));
  return file;
}

function portOf(running: Running): string {
  return running.https.slice(running.https.lastIndexOf(':') + 1);
}

async function byGo(testbed: Testbed, running: Running, transfer: Transfer): Promise<string | undefined> {
  const { protocol, up, bytes, windows } = transfer;
  const ca = join(testbed.certificate, 'leaf.pem');
  const args = ['-protocol', protocol, '-connect', running.https, '-ca', ca, `-up=${up}`, '-bytes', `${bytes}`];
  const sizes = ['-stream-window', `${windows.stream}`, '-connection-window', `${windows.connection}`];
  const { code, output } = await run(testbed.client, ['transfer', ...args, ...sizes, '-limit', `${LIMIT_SECONDS}s`]);
  return code === 0 ? undefined : output.trim();
}

async function byCurl(
  testbed: Testbed,
  running: Running,
  { protocol, up, bytes }: Transfer,
  expected: string,
): Promise<string | undefined> {
  const answer = join(testbed.folder, 'answer');
  const to = [
    '--connect-to',
    `${HOST}:443:127.0.0.1:${portOf(running)}`,
    '--cacert',
    join(testbed.certificate, 'leaf.pem'),
  ];
  const how = [
    '-sS',
    '--fail',
    '--max-time',
    `${LIMIT_SECONDS}`,
    '-o',
    answer,
    protocol === 'http1' ? '--http1.1' : '--http2',
  ];
  const what = up ? ['-T', await fileOf(testbed, bytes), `https://${HOST}/digest`] : [`https://${HOST}/bytes/${bytes}`];
  const { code, output } = await run('curl', [...to, ...how, ...what]);
  if (code !== 0) return output.trim();
  const hash = createHash('sha256');
  let text = '';
  for await (const chunk of createReadStream(answer)) {
    hash.update(chunk);
    if (up) text += chunk;
  }
  return verdict(up ? text : hash.digest('hex'), expected);
}

function verdict(digest: string, expected: string): string | undefined {
  return digest === expected ? undefined : 'the body has another digest';
}

async function byH2load(
  testbed: Testbed,
  running: Running,
  { up, bytes, windows }: Transfer,
  expected: string,
): Promise<string | undefined> {
  const port = portOf(running);
  const bits = (window: number) => `${Math.log2(window)}`;
  const count = `${H2LOAD_STREAMS}`;
  const how = ['-n', count, '-c', '1', '-m', count, '-w', bits(windows.stream), '-W', bits(windows.connection)];
  const body = up ? ['-d', await fileOf(testbed, bytes), '-H', `x-sha256: ${expected}`] : [];
  const url = `https://${HOST}:${port}/${up ? 'digest' : `bytes/${bytes}`}`;
  const to = ['--connect-to', `127.0.0.1:${port}`, '-N', `${LIMIT_SECONDS}`];
  const { code, output } = await run('h2load', [...how, ...body, ...to, url]);
  const answered = /^status codes: (\d+) 2xx/m.exec(output)?.[1];
  if (code !== 0 || answered !== count) return output.trim().split('\n').slice(-12).join('\n');
  const data = /\((\d+)\) data$/m.exec(output)?.[1];
  const due = H2LOAD_STREAMS * (up ? expected.length : bytes);
  return data === `${due}` ? undefined : `${data} bytes instead of ${due}`;
}

async function byAioquic(
  testbed: Testbed,
  running: Running,
  { python: { modules } }: TransferClients,
  { up, bytes, windows }: Transfer,
  expected: string,
): Promise<string | undefined> {
  const program = join(import.meta.dirname, 'aioquic_client.py');
  const to = ['--port', portOf(running), '--ca', join(testbed.certificate, 'leaf.pem'), '--bytes', `${bytes}`];
  const sizes = ['--stream-window', `${windows.stream}`, '--connection-window', `${windows.connection}`];
  const body = up ? ['--upload', await fileOf(testbed, bytes)] : [];
  const { code, stdout, output } = await run('python3', [program, ...to, ...sizes, ...body], {
    env: { PYTHONPATH: modules },
    signal: AbortSignal.timeout(LIMIT_SECONDS * 1000),
  });
  return code === 0 ? verdict(stdout.trim(), expected) : output.trim() || 'it did not end in time';
}
