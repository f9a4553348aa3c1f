// Fails when a name or label that docs/glossary.md bans comes back. Reads its third column only.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../lib/command.ts';
import { readStrings } from '../strings.ts';

const GLOSSARY = 'docs/glossary.md';
const ROW = /^\|([^|]*)\|([^|]*)\|([^|]*)\|$/;
const NAME = /^`([^`]+)` in `([^`]+)`$/;
const LABEL = /^"([^"]+)"$/;
const SOURCES = '**/*.{rs,ts,tsx,mts,mjs,proto,prisma,toml}';
const IGNORED = /(^|\/)(node_modules|\.next|\.turbo|dist|generated|target)(\/|$)/;

interface Banned {
  readonly term: string;
  readonly line: number;
  /** A file name, an identifier, or with quotes a label. */
  readonly item: string;
  readonly folder: string | null;
}

/** A banned item is `` `name` in `folder` `` (a file's name if it has an extension, else an identifier) or `"Label"`. */
export function checkGlossary(root: string): string[] {
  const { banned, problems } = readBanned(readFileSync(join(root, GLOSSARY), 'utf8'));
  const labels = new Map<string, Banned>();
  const names: Banned[] = [];
  for (const entry of banned) {
    if (entry.folder === null) labels.set(entry.item, entry);
    else if (existsSync(join(root, entry.folder))) names.push(entry);
    else problems.push(`${GLOSSARY}:${entry.line} bans a name in ${entry.folder}, which does not exist`);
  }
  const shown = readStrings(root).flatMap(({ path, line, text }) => {
    const entry = labels.get(text);
    return entry === undefined ? [] : [`${path}:${line} says "${text}": the term is ${entry.term}`];
  });
  return [...problems, ...checkNames(root, names), ...shown];
}

function checkNames(root: string, names: readonly Banned[]): string[] {
  const folders = new Map<string, Banned[]>();
  for (const entry of names) folders.set(entry.folder ?? '', [...(folders.get(entry.folder ?? '') ?? []), entry]);
  return [...folders].flatMap(([folder, entries]) => {
    const identifiers = new Map(entries.map((entry) => [entry.item, entry.term]));
    return sources(root, folder).flatMap((path) => {
      const file = identifiers.get(path.slice(path.lastIndexOf('/') + 1));
      const used = new Set(readFileSync(join(root, path), 'utf8').match(/[A-Za-z_]\w*/g) ?? []);
      return [
        ...(file === undefined ? [] : [`${path} has a banned name: the term is ${file}`]),
        ...[...identifiers]
          .filter(([name]) => used.has(name))
          .map(([name, term]) => `${path} uses ${name}: the term is ${term}`),
      ];
    });
  });
}

function sources(root: string, folder: string): string[] {
  if (statSync(join(root, folder)).isFile()) return [folder];
  return globSync(SOURCES, { cwd: join(root, folder), exclude: (name) => IGNORED.test(name) })
    .filter((path) => !IGNORED.test(path))
    .map((path) => `${folder.replace(/\/$/, '')}/${path.replaceAll('\\', '/')}`)
    .sort();
}

function readBanned(text: string): { readonly banned: Banned[]; readonly problems: string[] } {
  const banned: Banned[] = [];
  const problems: string[] = [];
  text.split('\n').forEach((row, index) => {
    const [, term = '', , column = ''] = ROW.exec(row) ?? [];
    if (term === '' || /^[\s:-]*$/.test(column) || column.trim() === 'banned') return;
    for (const item of column.split(';').map((part) => part.trim())) {
      const [, name, folder] = NAME.exec(item) ?? [];
      const [, label] = LABEL.exec(item) ?? [];
      const found = name ?? label;
      if (found === undefined)
        problems.push(`${GLOSSARY}:${index + 1} bans ${item}, which is neither a name in a folder nor a label`);
      else banned.push({ term: term.trim(), line: index + 1, item: found, folder: folder ?? null });
    }
  });
  if (banned.length === 0) problems.push(`${GLOSSARY} bans nothing`);
  return { banned, problems };
}

if (import.meta.main) {
  const findings = checkGlossary(ROOT);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
