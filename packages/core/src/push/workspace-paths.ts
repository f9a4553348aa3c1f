// Suggests watch paths of an app in a monorepo: its folder, the folders of the workspace that it depends on, and the files at
// the root that concern every build. Pure; it reads manifests of npm, pnpm, Yarn, Bun, Turborepo, Cargo and Go.
import { posix } from 'node:path';
import { matcherOf } from './globs.ts';

export interface WorkspaceFiles {
  /** Paths of all files. */
  readonly paths: readonly string[];
  /** Content of the manifests among them, by path. */
  readonly manifests: ReadonlyMap<string, string>;
}

const manifestNames = ['package.json', 'pnpm-workspace.yaml', 'turbo.json', 'Cargo.toml', 'go.mod', 'go.work'];
const ignoredFolder = /(?:^|\/)(?:node_modules|vendor|target|dist|fixtures|__fixtures__|testdata)\//;
const rootFiles: Readonly<Record<string, readonly string[]>> = {
  'package.json': [
    'package.json',
    'package-lock.json',
    'npm-shrinkwrap.json',
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'yarn.lock',
    'bun.lock',
    'turbo.json',
    '.npmrc',
  ],
  'Cargo.toml': ['Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'rust-toolchain', '.cargo/**'],
  'go.mod': ['go.work', 'go.work.sum', 'go.mod', 'go.sum'],
};

/** Returns the paths of the manifests that a suggestion reads, those near the root first. */
export function manifestPathsOf(paths: readonly string[]): string[] {
  const isManifest = (path: string) => manifestNames.includes(posix.basename(path)) && !ignoredFolder.test(path);
  const depth = (path: string) => path.split('/').length;
  return paths.filter(isManifest).toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
}

/** Empty: the app is the whole repository, or no manifest says what it depends on. */
export function suggestWatchPaths(files: WorkspaceFiles, rootFolder: string): string[] {
  const folder = rootFolder.replace(/\/+$/, '');
  if (folder === '') return [];
  const graphs = [readNodeGraph(files), readCargoGraph(files), readGoGraph(files)];
  const own = graphs.filter(({ edges }) => edges.has(folder));
  if (own.length === 0) return [];
  const folders = new Set(own.flatMap(({ edges }) => closureOf(edges, folder)));
  const shared = own.flatMap(({ manifest, globalFiles }) => [...sharedFiles(files.paths, manifest), ...globalFiles]);
  // A package at the root would watch everything.
  const globs = [...folders].filter((each) => each !== '').map((each) => `${each}/**`);
  return [...new Set([...globs, ...shared])];
}

/** Dependencies between the folders of a workspace. */
interface Graph {
  readonly manifest: string;
  readonly edges: ReadonlyMap<string, readonly string[]>;
  /** Files that concern every package, as the workspace names them. */
  readonly globalFiles: readonly string[];
}

function closureOf(edges: Graph['edges'], from: string): string[] {
  const reached = new Set([from]);
  for (const folder of reached) for (const next of edges.get(folder) ?? []) reached.add(next);
  const [own, ...others] = reached;
  return [own ?? from, ...others.toSorted()];
}

function sharedFiles(paths: readonly string[], manifest: string): string[] {
  return (rootFiles[manifest] ?? []).filter((file) =>
    file.endsWith('/**') ? paths.some((path) => path.startsWith(file.slice(0, -2))) : paths.includes(file),
  );
}

function manifestsOf({ manifests }: WorkspaceFiles, name: string): readonly (readonly [string, string])[] {
  return [...manifests]
    .filter(([path]) => posix.basename(path) === name)
    .map(([path, text]) => [folderOf(path), text] as const);
}

function folderOf(path: string): string {
  const folder = posix.dirname(path);
  return folder === '.' ? '' : folder;
}

/** Resolves a relative path; null: it leaves the repository. */
function resolved(folder: string, path: string): string | null {
  const target = posix.normalize(posix.join(folder, path)).replace(/\/+$/, '');
  if (target === '..' || target.startsWith('../')) return null;
  return target === '.' ? '' : target;
}

function readNodeGraph(files: WorkspaceFiles): Graph {
  const packages = manifestsOf(files, 'package.json').map(([folder, text]) => ({ folder, json: readJson(text) }));
  const root = packages.find(({ folder }) => folder === '')?.json ?? {};
  const members = memberGlobs(root, files.manifests.get('pnpm-workspace.yaml'));
  const matchesMembers = matcherOf(members);
  const isMember = (folder: string) => members.length === 0 || matchesMembers(folder);
  const names = new Map(
    packages.flatMap(({ folder, json }) =>
      typeof json.name === 'string' && folder !== '' && isMember(folder) ? [[json.name, folder] as const] : [],
    ),
  );
  const kinds = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'];
  const edges = packages.map(({ folder, json }) => {
    const wanted = kinds.flatMap((kind) => Object.entries(recordOf(json[kind])));
    const folders = wanted.flatMap(([name, version]) => {
      const local = /^(?:file|link|portal):(.+)$/.exec(String(version))?.[1];
      return local === undefined ? (names.get(name) ?? []) : (resolved(folder, local) ?? []);
    });
    return [folder, folders] as const;
  });
  const turbo = readJson(files.manifests.get('turbo.json') ?? '');
  return { manifest: 'package.json', edges: new Map(edges), globalFiles: stringsOf(turbo.globalDependencies) };
}

/** A workspace with more or longer globs is read in part. */
const [globsMax, globLengthMax] = [200, 200];

/** Globs of the workspace's folders; empty: it names none. */
function memberGlobs(root: Readonly<Record<string, unknown>>, pnpm: string | undefined): string[] {
  const listed = Array.isArray(root.workspaces) ? root.workspaces : recordOf(root.workspaces).packages;
  return [...stringsOf(listed), ...pnpmGlobs(pnpm ?? '')]
    .filter((glob) => glob.length <= globLengthMax)
    .slice(0, globsMax)
    .map((glob) => glob.replace(/^(!?)\.\//, '$1').replace(/\/+$/, ''));
}

/** Entries of the list `packages`. Line by line: expressions over the whole file can take minutes on a hostile one. */
function pnpmGlobs(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  const start = lines.indexOf('packages:') + 1;
  const rest = start === 0 ? [] : lines.slice(start);
  const isInList = (line: string) => line === '' || line.startsWith('-') || line.startsWith('#');
  const end = rest.findIndex((line) => !isInList(line));
  const entries = (end === -1 ? rest : rest.slice(0, end)).filter((line) => line.startsWith('-'));
  return entries.map((line) => unquote(line.slice(1).trim())).filter((glob) => glob !== '');
}

function unquote(value: string): string {
  const quote = value.charAt(0);
  const end = quote === '"' || quote === "'" ? value.indexOf(quote, 1) : -1;
  return end === -1 ? (value.split('#')[0] ?? '').trim() : value.slice(1, end);
}

function readCargoGraph(files: WorkspaceFiles): Graph {
  const crates = manifestsOf(files, 'Cargo.toml');
  const root = crates.find(([folder]) => folder === '')?.[1] ?? '';
  const shared = new Map(
    pathDependencies(tables(root), /^workspace\.dependencies/).map(({ name, path }) => [name, path]),
  );
  const edges = crates.map(([folder, text]) => {
    const own = /(?:^|\.)(?:dev-|build-)?dependencies(?:\.|$)/;
    const sections = tables(text).filter(({ name }) => own.test(name) && !name.startsWith('workspace.'));
    const direct = pathDependencies(sections, own).flatMap(({ path }) => resolved(folder, path) ?? []);
    const inherited = sections.flatMap(({ name, lines }) => inheritedNames(name, lines));
    return [folder, [...direct, ...inherited.flatMap((name) => shared.get(name) ?? [])]] as const;
  });
  return { manifest: 'Cargo.toml', edges: new Map(edges), globalFiles: [] };
}

interface TomlTable {
  readonly name: string;
  readonly lines: readonly string[];
}

/** Divides a manifest at its headers. Enough for dependencies, which are written one a line. */
function tables(text: string): TomlTable[] {
  return text.split(/^[ \t]*(?=\[)/m).map((part) => {
    const [head = '', ...lines] = part.split(/\r?\n/);
    return { name: /^\[+\s*([^\]]+?)\s*\]+/.exec(head)?.[1]?.replaceAll(/["']/g, '') ?? '', lines };
  });
}

function pathDependencies(sections: readonly TomlTable[], wanted: RegExp) {
  return sections
    .filter(({ name }) => wanted.test(name))
    .flatMap(({ name: table, lines }) =>
      lines.flatMap((line) => {
        const path = /\bpath\s*=\s*["']([^"']+)["']/.exec(line)?.[1];
        if (path === undefined || line.trimStart().startsWith('#')) return [];
        // In a table of its own, such as [dependencies.engine], the name is in the header.
        const inLine = /^\s*["']?([\w-]+)["']?\s*=\s*\{/.exec(line)?.[1] ?? /^\s*([\w-]+)\.path/.exec(line)?.[1];
        return [{ name: inLine ?? table.split('.').at(-1) ?? '', path }];
      }),
    );
}

function inheritedNames(table: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) => {
    if (!/\bworkspace\s*=\s*true\b/.test(line)) return [];
    const inLine = /^\s*["']?([\w-]+)["']?\s*(?:\.workspace\b|=\s*\{)/.exec(line)?.[1];
    return [inLine ?? table.split('.').at(-1) ?? ''];
  });
}

function readGoGraph(files: WorkspaceFiles): Graph {
  const modules = manifestsOf(files, 'go.mod');
  const work = files.manifests.get('go.work') ?? '';
  const used = new Set(directives(work, 'use').flatMap(([path = '']) => resolved('', path) ?? []));
  const names = new Map(
    modules.flatMap(([folder, text]) => {
      const [name] = directives(text, 'module')[0] ?? [];
      return name !== undefined && used.has(folder) ? [[name, folder] as const] : [];
    }),
  );
  const edges = modules.map(([folder, text]) => {
    const replaced = directives(text, 'replace').flatMap((words) => {
      const target = words[words.indexOf('=>') + 1] ?? '';
      return target.startsWith('.') ? (resolved(folder, target) ?? []) : [];
    });
    const required = directives(text, 'require').flatMap(([name = '']) => names.get(name) ?? []);
    return [folder, [...replaced, ...required]] as const;
  });
  return { manifest: 'go.mod', edges: new Map(edges), globalFiles: [] };
}

/** Returns the words of each line of a directive, on one line or in a block. */
function directives(text: string, name: string): string[][] {
  const clean = text.replaceAll(/\/\/.*$/gm, '');
  const blocks = [...clean.matchAll(new RegExp(`^${name}\\s*\\(([^)]*)\\)`, 'gm'))].flatMap(([, block = '']) =>
    block.split('\n'),
  );
  const single = [...clean.matchAll(new RegExp(`^${name}[ \\t]+([^(\\n]+)$`, 'gm'))].map(([, line = '']) => line);
  return [...blocks, ...single].map((line) => line.trim().split(/\s+/)).filter(([word]) => word !== '');
}

function readJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    // A manifest that its own tools do not read either names no dependencies.
    return {};
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
