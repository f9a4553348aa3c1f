// Fails when two files of the Rust crates define a type of the same name: a search for it would find both.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lib/command.ts';

const SOURCES = 'agents/crates/*/src/**/*.rs';
// Generated messages are named as the types of `model` that they carry. Tests name their own stand-ins.
const IGNORED = /\/(?:gen|tests)\/|tests\.rs$/;
const DEFINITION = /^(?: {4})?(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|type|union) ([A-Z]\w*)/;
const MODULE = /^(?:pub(?:\([^)]*\))? )?mod \w+ \{/;

/** Names that several crates may define, each with the reason why no qualifier helps. At most twelve. */
export const SHARED_NAMES: ReadonlyMap<string, string> = new Map();

export function checkTypeNames(root: string, shared: ReadonlyMap<string, string> = SHARED_NAMES): string[] {
  const files = new Map<string, Set<string>>();
  const paths = globSync(SOURCES, { cwd: root }).map((path) => path.replaceAll('\\', '/'));
  for (const path of paths.filter((candidate) => !IGNORED.test(candidate)).sort()) {
    for (const name of readTypeNames(readFileSync(join(root, path), 'utf8')))
      files.set(name, (files.get(name) ?? new Set()).add(path));
  }
  return [
    ...[...files]
      .filter(([name, definers]) => definers.size > 1 && !shared.has(name))
      .map(([name, definers]) => `${name} is defined in ${[...definers].join(' and ')}: qualify one of them`),
    ...[...shared.keys()]
      .filter((name) => (files.get(name)?.size ?? 0) < 2)
      .map((name) => `${name} is listed as a shared name but is defined in one file at most`),
  ];
}

/** Names of the types that a file defines, at its top or in a module, without associated types and those of tests. */
function readTypeNames(source: string): string[] {
  const names: string[] = [];
  let isInModule = false;
  let isForTests = false;
  for (const line of source.split('\n')) {
    const name = DEFINITION.exec(line)?.[1];
    if (name !== undefined && (isInModule || !line.startsWith(' '))) names.push(name);
    if (/^#\[cfg\(test\)\]/.test(line)) isForTests = true;
    else if (/^[a-z]/.test(line)) {
      isInModule = MODULE.test(line) && !isForTests;
      isForTests = false;
    }
  }
  return names;
}

if (import.meta.main) {
  const findings = checkTypeNames(ROOT);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
