// Builds the parts of the control plane: Prisma's client, the web app, the agent. Skips a build with unchanged inputs.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandResult, ROOT, run } from '../lib/command.ts';
import { hashInputs, isCurrent, markCurrent } from '../lib/inputs-hash.ts';
import { likeTests } from '../lib/install.mjs';

type Detail = (text: string) => void;

export class BuildFailed extends Error {
  override readonly name = 'BuildFailed';
}

const GENERATED = join(ROOT, 'packages/db/src/generated');
const WEB = join(ROOT, 'apps/web');
const WEB_INPUTS = [
  'apps/web/**/*',
  // The web app serves them.
  'docs/*.md',
  'CHANGELOG.md',
  'examples/**/*',
  'packages/{api,auth,contract,core,db,github,mail,outbound,report,settings,ui}/{package.json,src/**/*}',
  'packages/config/**/*.json',
  'prisma/schema/**/*.prisma',
  'package-lock.json',
];
const TARGET = join(ROOT, 'agents/target');
const TAIL_LINES = 25;
const POLL_MS = 2000;

/** Script of the built web server. */
export const WEB_SERVER = join(WEB, '.next/standalone/apps/web/server.js');

export async function generateClient(detail: Detail): Promise<void> {
  const hash = hashInputs(ROOT, ['prisma/schema/**/*.prisma', 'prisma.config.ts', 'packages/db/package.json']);
  const mark = join(GENERATED, '.inputs');
  if (isCurrent(mark, hash)) return detail('current');
  const result = await run('prisma', ['generate', '--config', join(ROOT, 'prisma.config.ts')]);
  requireSuccess(result, 'Prisma could not generate its client');
  markCurrent(mark, hash);
}

/** Builds the web app; a second call in one process waits for the first. */
export function buildWeb(detail: Detail): Promise<void> {
  web ??= buildWebOnce(detail);
  return web;
}

let web: Promise<void> | undefined;

async function buildWebOnce(detail: Detail): Promise<void> {
  const hash = hashInputs(ROOT, WEB_INPUTS);
  const mark = join(WEB, '.next/fairlead-inputs');
  if (isCurrent(mark, hash) && existsSync(WEB_SERVER)) return detail('current');
  const onOutput = (chunk: string) => {
    const line = chunk.trim().split('\n').at(-1)?.trim();
    if (line) detail(line.slice(0, 60));
  };
  const result = await run('next', ['build'], { cwd: WEB, onOutput });
  requireSuccess(result, 'the web app could not be built');
  // The standalone server serves these two folders but does not contain them.
  const standalone = join(WEB, '.next/standalone/apps/web');
  rmSync(join(standalone, '.next/static'), { recursive: true, force: true });
  cpSync(join(WEB, '.next/static'), join(standalone, '.next/static'), { recursive: true });
  if (existsSync(join(WEB, 'public'))) cpSync(join(WEB, 'public'), join(standalone, 'public'), { recursive: true });
  markCurrent(mark, hash);
  detail('');
}

/**
 * Builds the agent with the flags of the tests, so that `npm start` and `npm test` share every foreign crate. Returns
 * the binary.
 */
export async function buildAgent(detail: Detail): Promise<string> {
  const manifest = join(ROOT, 'agents/Cargo.toml');
  const crates = readFileSync(join(ROOT, 'agents/Cargo.lock'), 'utf8').match(/^\[\[package\]\]$/gm)?.length ?? 0;
  let compiled = 0;
  // Another cargo, which began with the install of npm's dependencies, compiles until this one may.
  let other: NodeJS.Timeout | undefined;
  const tellOther = () => detail(`${compiledCrates()} of at most ${crates} crates`);
  const onOutput = (chunk: string) => {
    const started = [...chunk.matchAll(/^\s*Compiling (\S+)/gm)];
    compiled += started.length;
    const name = started.at(-1)?.[1];
    if (name !== undefined) detail(`${compiled} of at most ${crates} crates, now ${name}`);
    else if (chunk.includes('Blocking')) other ??= setInterval(tellOther, POLL_MS);
  };
  const args = [
    'build',
    '--locked',
    '--manifest-path',
    manifest,
    '--target-dir',
    TARGET,
    ...likeTests('--bin', 'fairlead-agent'),
  ];
  const result = await run('cargo', args, { onOutput }).finally(() => clearInterval(other));
  requireSuccess(result, 'the agent could not be built');
  if (other !== undefined) detail(`${compiledCrates()} crates`);
  else detail(compiled === 0 ? 'current' : `${compiled} crates`);
  return join(TARGET, 'debug/fairlead-agent');
}

function compiledCrates(): number {
  const folder = join(TARGET, 'debug/deps');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.rlib')).length : 0;
}

function requireSuccess(result: CommandResult, what: string): void {
  if (result.code === 0) return;
  const reason = /No space left on device/i.test(result.output)
    ? 'the disk is full: make room first'
    : 'its last lines:';
  throw new BuildFailed(`${what}; ${reason}\n${result.output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n')}`);
}
