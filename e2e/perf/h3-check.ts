// `npm run perf:h3-check`: compares the HTTP/3 load of `fairlead-agent bench` with that of a quic-go client
// (e2e/perf/h3-client), on the same proxy with 32 connections of 16 streams. Prints both and their ratios; the exit
// code reports only that it ran. Needs Go.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../../tools/lib/command.ts';
import { CELLS } from './cells.ts';
import { measureRow, WARM_UP_MS } from './measure-row.ts';
import type { Peer, Running } from './peer.ts';
import { goSource } from './peer-install.ts';
import { fairlead } from './peers.ts';
import { binaries, makeCertificate } from './prepare.ts';
import { startServing, stopProcess } from './processes.ts';
import type { Row } from './proxy-report.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    /** Measures an existing release build. */
    built: { type: 'boolean', default: false },
  },
});

const CELL = 'h3_32x16';
const STREAMS = 16;

const FIGURES = [
  ['requests_per_second', 'requests/s'],
  ['cpu_us_per_request', 'CPU of the proxy, µs a request'],
  ['generator_cpu_us_per_request', 'CPU of the generator, µs a request'],
  ['p50_us', 'p50 µs'],
  ['p99_us', 'p99 µs'],
  ['errors', 'errors'],
] as const;
type Figures = Pick<Row, (typeof FIGURES)[number][0]>;

const cell = CELLS.find(({ name }) => name === CELL);
const [peer] = fairlead('');
if (cell === undefined || peer === undefined) throw new Error(`there is no cell ${CELL}, or no proxy to measure`);
const { clients, bodyBytes } = cell;
const seconds = Number(options.seconds);
const { agent, stand } = binaries(options.built);
const client = await goSource('h3-client');
const folder = mkdtempSync(join(tmpdir(), 'fairlead-h3-'));
try {
  const certificate = join(folder, 'certificate');
  makeCertificate(stand, certificate);
  const app = await startServing(stand, ['app', String(bodyBytes)]);
  try {
    const running = await peer.start({ file: agent, version: '' }, { folder, certificate, app: app.address, clients });
    try {
      await compare(peer, running, certificate);
    } finally {
      await stopProcess(running.child);
    }
  } finally {
    await stopProcess(app.child);
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function compare(peer: Peer, running: Running, certificate: string): Promise<void> {
  if (cell === undefined) return;
  const own: Figures[] = [];
  const other: Figures[] = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    own.push(await measureRow({ agent, certificate, seconds }, cell, folder, { peer, running }));
    other.push(await byQuicGo(running, certificate));
  }
  console.log(`${CELL}, ${options.rounds} rounds of ${seconds} s each, load ${loadavg()[0]?.toFixed(2)}; medians`);
  console.log(`${''.padEnd(36)}${['bench', 'quic-go', 'bench ÷ quic-go'].map((head) => head.padStart(16)).join('')}`);
  for (const [name, label] of FIGURES) {
    const of = (rows: readonly Figures[]) => median(rows.map((row) => row[name] ?? Number.NaN));
    const [ours, theirs] = [of(own), of(other)];
    const cells = [ours.toFixed(1), theirs.toFixed(1), name === 'errors' ? '' : (ours / theirs).toFixed(2)];
    console.log(`${label.padEnd(36)}${cells.map((text) => text.padStart(16)).join('')}`);
  }
}

async function byQuicGo(running: Running, certificate: string): Promise<Figures> {
  const args = [
    ['-url', 'https://bench.localhost/'],
    ['-connect', running.https],
    ['-ca', join(certificate, 'ca/ca.pem')],
    ['-connections', String(clients / STREAMS)],
    ['-streams', String(STREAMS)],
    ['-warmup', `${WARM_UP_MS}ms`],
    ['-duration', `${seconds}s`],
    ['-pids', running.pids().join(',')],
  ].flat();
  const { code, stdout, output } = await run(client.file, args);
  if (code !== 0) throw new Error(`quic-go: ${output.trim()}`);
  return JSON.parse(stdout);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}
