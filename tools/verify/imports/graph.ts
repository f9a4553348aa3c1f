// Builds the import graph of all TypeScript and JavaScript sources. Knows syntax and resolution only; rules.ts decides
// what is allowed.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, posix, relative } from 'node:path';
import { parseSync } from 'oxc-parser';

/** Import as written (`specifier`), with its target. */
export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** True for an import that is erased before the code runs (`import type`, `export type … from`). */
  readonly typeOnly: boolean;
  readonly target: Target;
}

export type Target =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'builtin'; readonly name: string }
  | { readonly kind: 'package'; readonly name: string }
  | { readonly kind: 'unresolved'; readonly reason: string };

export interface SourceFile {
  /** Path relative to the repository's root, with forward slashes. */
  readonly path: string;
  readonly directives: readonly string[];
  readonly imports: readonly Import[];
}

export interface Graph {
  readonly files: ReadonlyMap<string, SourceFile>;
}

interface WorkspacePackage {
  readonly directory: string;
  readonly exports: Readonly<Record<string, string>>;
}

const SOURCES = ['apps/**/*', 'packages/**/*', 'e2e/**/*', 'prisma/**/*', 'tools/**/*'].map(
  (glob) => `${glob}.{ts,tsx,mts,mjs,js}`,
);
const IGNORED = /(^|\/)(node_modules|\.next|dist|test-results|playwright-report)(\/|$)/;
const EXTENSIONS = ['', '.ts', '.tsx', '/index.ts', '/index.tsx', '.mjs', '.js'];

export function readGraph(root: string): Graph {
  const packages = readWorkspacePackages(root);
  const aliases = readAliases(root);
  const files = new Map<string, SourceFile>();
  for (const found of globSync(SOURCES, { cwd: root, exclude: (name) => IGNORED.test(name) })) {
    const path = found.replaceAll('\\', '/');
    if (IGNORED.test(path) || path.endsWith('.d.ts')) continue;
    files.set(path, readSource(root, path, packages, aliases));
  }
  return { files };
}

function readSource(
  root: string,
  path: string,
  packages: ReadonlyMap<string, WorkspacePackage>,
  aliases: ReadonlyMap<string, string>,
): SourceFile {
  const text = readFileSync(join(root, path), 'utf8');
  const parsed = parseSync(path, text);
  const fatal = parsed.errors[0];
  if (fatal !== undefined) throw new Error(`${path} cannot be parsed: ${fatal.message}`);

  const directives: string[] = [];
  for (const statement of parsed.program.body) {
    if (statement.type !== 'ExpressionStatement' || !('directive' in statement)) break;
    if (typeof statement.directive === 'string') directives.push(statement.directive);
  }

  const imports: Import[] = [];
  const add = (specifier: string, offset: number, typeOnly: boolean) => {
    const target = resolve(root, path, specifier, packages, aliases);
    imports.push({ specifier, line: lineAt(text, offset), typeOnly, target });
  };
  for (const statement of parsed.module.staticImports) {
    // `import { type A }` still runs the module; only `import type` does not.
    add(statement.moduleRequest.value, statement.start, /^import\s+type\b/.test(text.slice(statement.start)));
  }
  for (const statement of parsed.module.staticExports) {
    const request = statement.entries.find((entry) => entry.moduleRequest !== null)?.moduleRequest;
    if (request) add(request.value, statement.start, /^export\s+type\b/.test(text.slice(statement.start)));
  }
  for (const call of parsed.module.dynamicImports) {
    const argument = text.slice(call.moduleRequest.start, call.moduleRequest.end).trim();
    const literal = /^(['"`])([^'"`$]+)\1$/.exec(argument)?.[2];
    if (literal !== undefined) add(literal, call.start, false);
    else imports.push(unresolved(argument, lineAt(text, call.start), 'not a literal, so nobody can check it'));
  }
  return { path, directives, imports };
}

function unresolved(specifier: string, line: number, reason: string): Import {
  return { specifier, line, typeOnly: false, target: { kind: 'unresolved', reason } };
}

function resolve(
  root: string,
  from: string,
  specifier: string,
  packages: ReadonlyMap<string, WorkspacePackage>,
  aliases: ReadonlyMap<string, string>,
): Target {
  if (isBuiltin(specifier)) return { kind: 'builtin', name: specifier };
  if (specifier.startsWith('.')) return resolveFile(root, posix.join(posix.dirname(from), specifier));
  for (const [prefix, directory] of aliases) {
    const owner = directory.slice(0, directory.indexOf('/', directory.indexOf('/') + 1));
    if (specifier.startsWith(prefix) && from.startsWith(`${owner}/`)) {
      return resolveFile(root, posix.join(directory, specifier.slice(prefix.length)));
    }
  }
  const parts = specifier.split('/');
  const name = specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? specifier);
  const workspace = packages.get(name);
  if (workspace === undefined) return { kind: 'package', name };
  const subpath = specifier === name ? '.' : `.${specifier.slice(name.length)}`;
  const exported = matchExport(workspace.exports, subpath);
  if (exported === undefined) return { kind: 'unresolved', reason: `${name} does not export ${subpath}` };
  return resolveFile(root, posix.join(workspace.directory, exported));
}

function resolveFile(root: string, path: string): Target {
  for (const extension of EXTENSIONS) {
    const candidate = `${path}${extension}`;
    if (existsSync(join(root, candidate)) && statSync(join(root, candidate)).isFile())
      return { kind: 'file', path: candidate };
  }
  // Generated code (Prisma's client, Next's types) may not exist yet, but its path is known.
  return { kind: 'file', path };
}

/**
 * Follows Node's rule: the exact subpath first, then the pattern with the longest part before its star, then the
 * longest pattern.
 */
function matchExport(exports: Readonly<Record<string, string>>, subpath: string): string | undefined {
  const exact = exports[subpath];
  if (exact !== undefined) return exact;
  let best: { pattern: string; prefix: string; value: string } | undefined;
  for (const [pattern, value] of Object.entries(exports)) {
    const [prefix, suffix] = pattern.split('*');
    if (prefix === undefined || suffix === undefined) continue;
    if (!subpath.startsWith(prefix) || !subpath.endsWith(suffix) || subpath.length < pattern.length) continue;
    const worse =
      best !== undefined && (best.prefix.length - prefix.length || best.pattern.length - pattern.length) >= 0;
    if (worse) continue;
    const middle = subpath.slice(prefix.length, subpath.length - suffix.length);
    best = { pattern, prefix, value: value.replaceAll('*', middle) };
  }
  return best?.value;
}

function readWorkspacePackages(root: string): Map<string, WorkspacePackage> {
  const packages = new Map<string, WorkspacePackage>();
  for (const manifest of globSync(['apps/*/package.json', 'packages/*/package.json', 'e2e/package.json'], {
    cwd: root,
  })) {
    const json = JSON.parse(readFileSync(join(root, manifest), 'utf8')) as {
      name: string;
      exports?: Record<string, string>;
    };
    packages.set(json.name, { directory: dirname(manifest).replaceAll('\\', '/'), exports: json.exports ?? {} });
  }
  return packages;
}

/** Reads `paths` of each app's tsconfig as prefix → folder: `@/` → `apps/web/src/`. */
function readAliases(root: string): Map<string, string> {
  const aliases = new Map<string, string>();
  for (const config of globSync('apps/*/tsconfig.json', { cwd: root })) {
    const json = JSON.parse(readFileSync(join(root, config), 'utf8')) as {
      compilerOptions?: { paths?: Record<string, string[]> };
    };
    for (const [pattern, [to]] of Object.entries(json.compilerOptions?.paths ?? {})) {
      if (to === undefined || !pattern.endsWith('*')) continue;
      const folder = relative(root, join(root, dirname(config), to.replace(/\*$/, ''))).replaceAll('\\', '/');
      aliases.set(pattern.slice(0, -1), `${folder}/`);
    }
  }
  return aliases;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
