// Checks references in the documents: cited paths and links exist, each `npm run` is a script, each `fairlead-agent`
// command is a command of the program.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../lib/command.ts';

const DOCUMENTS = ['*.md', 'docs/**/*.md', 'examples/*/README.md'];
const CODE_SPAN = /`([^`\n]+)`/g;
const PATH = /^(?:apps|packages|agents|tools|e2e|examples|docs|prisma|\.ci)\/[\w@.*{}<>/-]*$/;
const LINK = /\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)/g;
const SCRIPT = /\bnpm run ([\w:-]+)/g;
const AGENT = /\bfairlead-agent ([a-z][a-z-]*)([^`#\n|]*)/g;
const AGENT_CLI = 'agents/crates/agent/src/cli.rs';
const BUILT_IN_SCRIPTS = new Set(['start', 'test']);

export function checkDocuments(root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const agent = agentCommands(root);
  return globSync(DOCUMENTS, { cwd: root }).flatMap((document) => {
    const text = readFileSync(join(root, document), 'utf8');
    return text.split('\n').flatMap((line, index) => {
      const at = `${document}:${index + 1}`;
      const paths = [...line.matchAll(CODE_SPAN)].map((match) => match[1] ?? '').filter((span) => PATH.test(span));
      const links = [...line.matchAll(LINK)].map((match) => match[1] ?? '');
      const names = [...line.matchAll(SCRIPT)].map((match) => match[1] ?? '');
      return [
        ...paths.filter((path) => !exists(root, path)).map((path) => `${at} cites ${path}, which does not exist`),
        ...links
          .filter((link) => !existsSync(join(root, dirname(document), link)))
          .map((link) => `${at} links to ${link}, which does not exist`),
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
