// Load generators that check-generator.ts compares: each runs one closed loop under GNU time, which measures its whole
// CPU time in the same way for all.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../tools/lib/command.ts';
import { requirePrograms } from '../../tools/test/debian.ts';
import { type Counted, type Load, parseCpuSeconds, parseH2load, parseOha, parseWrk } from './generator-figures.ts';
import { crateProgram, debian } from './peer-install.ts';

const TIME = { file: '/usr/bin/time', packages: ['time'] };
const HOST = 'bench.localhost';

export interface Target {
  readonly name: string;
  readonly protocol: 'http1' | 'http2';
  readonly secure: boolean;
  readonly address: string;
  readonly caFile: string;
  readonly connections: number;
  /** Concurrent requests on one connection. */
  readonly streams: number;
}

export interface Generator {
  readonly name: string;
  readonly version: string;
  readonly measure: (target: Target, seconds: number, folder: string) => Promise<Load>;
}

/** Returns Fairlead's generator. `agent` is a release build. */
export function fairleadBench(agent: string): Generator {
  return {
    name: 'fairlead',
    version: '',
    measure: async (target, seconds, folder) => {
      const plan = writePlan(folder, target, { duration_ms: seconds * 1000 });
      return timed(folder, agent, ['bench', '--plan', plan, '--json'], (output) => {
        const row = JSON.parse(output);
        return { requests: row.requests, requestsPerSecond: row.requests_per_second };
      });
    },
  };
}

/** Writes a plan with one contender; returns its file. */
export function writePlan(folder: string, target: Target, fields: Readonly<Record<string, number>>): string {
  const file = join(folder, 'plan.json');
  const contender = {
    name: target.name,
    url: `${scheme(target)}://${HOST}/`,
    connect: target.address,
    ...(target.secure ? { ca_file: target.caFile } : {}),
    protocol: target.protocol,
  };
  const concurrency = [target.connections * target.streams];
  writeFileSync(file, JSON.stringify({ contenders: [contender], concurrency, ...fields }));
  return file;
}

/** Installs the other generators; `note` gets those that can't be. */
export async function peerGenerators(note: (line: string) => void): Promise<Generator[]> {
  const missing = await requirePrograms([TIME]);
  if (missing !== undefined) throw new Error(missing);
  const found: Generator[] = [];
  for (const [name, obtain] of [
    ['wrk', wrk],
    ['h2load', h2load],
    ['oha', oha],
  ] as const) {
    await obtain().then(
      (generator) => found.push(generator),
      (error: unknown) => note(`${name} takes no part: ${error instanceof Error ? error.message : error}`),
    );
  }
  return found;
}

async function wrk(): Promise<Generator> {
  const { file, version } = await debian('/usr/bin/wrk', ['wrk'], ['-v']);
  const args = (target: Target, seconds: number) => [`-t1`, `-c${target.connections}`, `-d${seconds}s`, url(target)];
  return {
    name: 'wrk',
    version,
    measure: (target, seconds, folder) => timed(folder, file, args(target, seconds), parseWrk),
  };
}

async function h2load(): Promise<Generator> {
  const { file, version } = await debian('/usr/bin/h2load', ['nghttp2-client'], ['--version']);
  const args = (target: Target, seconds: number) => [
    ...(target.protocol === 'http1' ? ['--h1'] : []),
    ...['-t', '1', '-c', `${target.connections}`, '-m', `${target.streams}`, '-D', `${seconds}`, url(target)],
  ];
  return {
    name: 'h2load',
    version,
    measure: (target, seconds, folder) => timed(folder, file, args(target, seconds), parseH2load),
  };
}

async function oha(): Promise<Generator> {
  const { file, version } = await crateProgram('oha', '1.9.0');
  const args = (target: Target, seconds: number) => [
    ...[
      '--no-tui',
      '--output-format',
      'json',
      '--insecure',
      '-z',
      `${seconds}s`,
      '-c',
      `${target.connections}`,
      url(target),
    ],
  ];
  return {
    name: 'oha',
    version,
    measure: (target, seconds, folder) => timed(folder, file, args(target, seconds), parseOha, OHA_ENV),
  };
}

/** One thread, as the others. */
const OHA_ENV = { TOKIO_WORKER_THREADS: '1' };

function scheme(target: Target): string {
  return target.secure ? 'https' : 'http';
}

function url(target: Target): string {
  return `${scheme(target)}://${target.address}/`;
}

async function timed(
  folder: string,
  program: string,
  args: readonly string[],
  parse: (output: string) => Counted,
  env: Readonly<Record<string, string>> = {},
): Promise<Load> {
  const file = join(folder, 'cpu');
  const { code, stdout, output } = await run(TIME.file, ['-f', '%U %S', '-o', file, program, ...args], { env });
  if (code !== 0) throw new Error(`${program}: ${output.trim().split('\n').at(-1) ?? ''}`);
  const counted = parse(stdout);
  const seconds = parseCpuSeconds(readFileSync(file, 'utf8'));
  return { ...counted, cpuUsPerRequest: (seconds * 1e6) / counted.requests };
}
