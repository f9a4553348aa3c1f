// Checks references in the documents: paths, links with their anchors, `npm run` scripts, `fairlead-agent` commands, and
// the tables and foreign keys of ARCHITECTURE.md exist.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../lib/command.ts';

const DOCUMENTS = ['*.md', 'docs/**/*.md', 'examples/*/README.md'];
const CODE_SPAN = /`([^`\n]+)`/g;
const PATH = /^(?:apps|packages|agents|tools|e2e|examples|docs|prisma|\.ci)\/[\w@.*{}<>/-]*$/;
const LINK = /\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)/g;
const SCRIPT = /\bnpm run ([\w:-]+)/g;
const AGENT = /\bfairlead-agent ([a-z][a-z-]*)([^`#\n|]*)/g;
const AGENT_CLI = 'agents/crates/agent/src/cli.rs';
const BUILT_IN_SCRIPTS = new Set(['start', 'test']);
const DATA_DOCUMENT = 'ARCHITECTURE.md';
const EDGE = /^ {2}(\w+) [|}][o|]--[o|][|{] (\w+) :/;

export function checkDocuments(root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const agent = agentCommands(root);
  const tables = readTables(root);
  return globSync(DOCUMENTS, { cwd: root }).flatMap((document) => {
    const text = readFileSync(join(root, document), 'utf8');
    let section = '';
    return text.split('\n').flatMap((line, index) => {
      if (line.startsWith('## ')) section = line.slice(3);
      const at = `${document}:${index + 1}`;
      const paths = [...line.matchAll(CODE_SPAN)].map((match) => match[1] ?? '').filter((span) => PATH.test(span));
      const links = [...line.matchAll(LINK)].map(([, target = '', anchor]) => ({
        target: target === '' ? document : join(dirname(document), target),
        anchor,
      }));
      const names = [...line.matchAll(SCRIPT)].map((match) => match[1] ?? '');
      return [
        ...paths.filter((path) => !exists(root, path)).map((path) => `${at} cites ${path}, which does not exist`),
        ...links
          .filter(({ target }) => !existsSync(join(root, target)))
          .map(({ target }) => `${at} links to ${target}, which does not exist`),
        ...links
          .filter(
            ({ target, anchor }) => anchor !== undefined && target.endsWith('.md') && !hasAnchor(root, target, anchor),
          )
          .map(({ target, anchor }) => `${at} links to #${anchor}, which ${target} lacks`),
        ...(document === DATA_DOCUMENT && section === 'Data' ? checkTables(line, tables) : []).map(
          (finding) => `${at} ${finding}`,
        ),
        ...names
          .filter((name) => scripts[name] === undefined && !BUILT_IN_SCRIPTS.has(name))
          .map((name) => `${at} names npm run ${name}, which is no script`),
        ...[...line.matchAll(AGENT)]
          .filter(([, name, rest]) => !isAgentCommand(agent, name ?? '', (rest ?? '').trim().split(/\s+/)))
          .map(([command]) => `${at} names ${command.trim()}, which is no command`),
      ];
    });
  });
}

/** Subcommands and long options from the declaration of the agent's command line. */
function agentCommands(root: string): { readonly names: ReadonlySet<string>; readonly options: ReadonlySet<string> } {
  const text = existsSync(join(root, AGENT_CLI)) ? readFileSync(join(root, AGENT_CLI), 'utf8') : '';
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map((match) => (match[1] ?? '').toLowerCase());
  const options = all(/#\[arg\(long.*\)\]\s+pub\(crate\) (\w+):/g).map((name) => `--${name.replaceAll('_', '-')}`);
  // Users never type the shim command.
  return { names: new Set(['shim', ...all(/^ {4}(\w+)(?:\(\w+\))?,$/gm)]), options: new Set(options) };
}

/** Another word right after the name would be a nested subcommand, and there are none. */
function isAgentCommand({ names, options }: ReturnType<typeof agentCommands>, name: string, rest: readonly string[]) {
  const [first = ''] = rest;
  return (
    names.has(name) &&
    !/^[a-z][a-z-]+$/.test(first) &&
    rest.every((word) => !/^--[a-z]/.test(word) || options.has(word))
  );
}

/** True if the document has a heading with this anchor, by GitHub's rule. */
function hasAnchor(root: string, document: string, anchor: string): boolean {
  if (!existsSync(join(root, document))) return true;
  const prose = readFileSync(join(root, document), 'utf8').replaceAll(/^```.*?^```/gms, '');
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.some(
    (heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-') === anchor,
  );
}

/** Foreign keys of each table, by the tables that they lead to. Metric tables are not in Prisma's schema and have none. */
function readTables(root: string): ReadonlyMap<string, ReadonlySet<string>> {
  const text = (pattern: string) =>
    globSync(pattern, { cwd: root }).map((path) => readFileSync(join(root, path), 'utf8'));
  const models = [
    ...text('prisma/schema/*.prisma')
      .join('\n')
      .matchAll(/^model (\w+) \{\n(.*?)^\}/gms),
  ];
  const names = new Map(
    models.map(([, model = '', body = '']) => [model, /@@map\("(\w+)"\)/.exec(body)?.[1] ?? model]),
  );
  const metrics = [
    ...text('prisma/migrations/*/migration.sql')
      .join('\n')
      .matchAll(/^CREATE TABLE (metric\.\w+)/gm),
  ];
  return new Map([
    ...metrics.map(([, name = '']) => [name, new Set<string>()] as const),
    ...models.map(([, model = '', body = '']) => {
      const keys = [...body.matchAll(/^ {2}\w+\s+(\w+)\??\s+@relation\(fields:/gm)];
      return [names.get(model) ?? model, new Set(keys.map(([, target = '']) => names.get(target) ?? target))] as const;
    }),
  ]);
}

/** Checks a line of the data diagram, whose edges lead from the referenced table, or the second column of the table. */
function checkTables(line: string, tables: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const [, parent, child] = EDGE.exec(line) ?? [];
  if (parent !== undefined && child !== undefined) {
    return tables.get(child)?.has(parent)
      ? []
      : [`draws a foreign key from ${child} to ${parent}, which does not exist`];
  }
  const cell = line.startsWith('|') ? (line.split('|')[2] ?? '') : '';
  const named = [...cell.matchAll(CODE_SPAN)].map(([, name = '']) => name).filter((name) => !name.startsWith('_'));
  return named.filter((name) => !tables.has(name)).map((name) => `names the table ${name}, which does not exist`);
}

/** True if the path exists. `<slug>` and `*` match anything, at least once. */
function exists(root: string, path: string): boolean {
  if (!/[<*{]/.test(path)) return existsSync(join(root, path));
  return globSync(path.replaceAll(/<[^>]*>/g, '*').replace(/\/$/, ''), { cwd: root }).length > 0;
}

if (import.meta.main) {
  const findings = checkDocuments(ROOT);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
