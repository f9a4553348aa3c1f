// `npm run release`: builds the files of a release into a folder, with checksums and a signature. Every expected failure
// is one clear line.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, run } from '../lib/command.ts';
import { BuildFailed } from '../start/builds.ts';
import { createProgress } from '../start/progress.ts';
import { buildReleaseAgent } from './agent.ts';
import { buildControlPlane } from './control-plane.ts';
import { INSTALLER, renderInstaller } from './installer.ts';
import { writeInventory } from './inventory.ts';
import { changesOf, writeNotes } from './notes.ts';
import { openSigner, pinnedKeys, signFile, signRelease } from './sign.ts';
import { fileNames, nameOf, type Part, ReleaseFailed, selectParts } from './targets.ts';

const HELP = `Usage: npm run release -- [options]

Builds a release: an agent and a control plane for each kind of machine, an SBOM, checksums and a signature.

  --to DIR       output folder (default: dist)
  --only PARTS   only these parts, such as agent-x64,control-plane-x64; then sign what the folder holds
  --help         show this

Environment: FAIRLEAD_RELEASE_KEY_FILE names the minisign secret key. Without it the release is a development release,
signed by a key pair that is made in the output folder. FAIRLEAD_NEXT_RELEASE_KEY is the public key of a release to come.
`;

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { to: text, only: text, help: { type: 'boolean' } } });
  if (values.help) return void process.stdout.write(HELP);
  const parts = selectParts(values.only);
  const to = fromCaller(values.to ?? 'dist');
  mkdirSync(to, { recursive: true });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const signer = openSigner(to);
  const publicKeys = pinnedKeys(signer);
  const commit = await readCommit();
  const progress = createProgress();

  const build = async (part: Part, detail: (line: string) => void) => {
    if (part.kind === 'sbom') return writeInventory(to, { version, ...commit }, detail);
    const { target } = part;
    if (part.kind === 'control-plane')
      return buildControlPlane(
        { ...commit, target, to, version, isDevelopment: signer.isDevelopment, publicKeys },
        detail,
      );
    const name = fileNames.agent(version, target);
    await buildReleaseAgent({ target, file: join(to, name), publicKeys }, detail);
    signFile(signer, join(to, name), `fairlead ${version} ${name}`);
  };
  for (const part of parts) await progress.step(nameOf(part), (detail) => build(part, detail));
  writeNotes(to, {
    version,
    releasedAt: new Date(commit.commitTime * 1000),
    changelog: changesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version),
  });
  writeFileSync(join(to, INSTALLER), renderInstaller(publicKeys), { mode: 0o755 });
  const files = await progress.step('checksums and signature', async () => signRelease(to, version, signer));
  for (const file of files) progress.note(`${formatSize(statSync(join(to, file)).size)}  ${file}`);
  if (signer.isDevelopment) {
    progress.note('A development release: FAIRLEAD_RELEASE_KEY_FILE names no key, so a new key pair signed it.');
  }
}

interface Commit {
  readonly commit: string;
  /** Time of the commit in seconds: the same commit gives the same archive. */
  readonly commitTime: number;
}

async function readCommit(): Promise<Commit> {
  const { code, stdout, output } = await run('git', ['log', '-1', '--format=%H %ct']);
  if (code !== 0) throw new ReleaseFailed(`a release is built from a commit: ${output.trim()}`);
  const [commit = '', time = ''] = stdout.trim().split(' ');
  return { commit, commitTime: Number(time) };
}

function formatSize(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1).padStart(8)} MB`;
}

/** npm runs scripts in the clone: resolve paths from the user's folder. */
function fromCaller(path: string): string {
  return isAbsolute(path) ? path : resolve(process.env.INIT_CWD ?? process.cwd(), path);
}

main().catch((error: unknown) => {
  const isExpected = error instanceof ReleaseFailed || error instanceof BuildFailed;
  console.error(isExpected ? `fairlead: ${error.message}` : error);
  process.exit(1);
});
