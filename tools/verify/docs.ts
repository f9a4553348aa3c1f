// Checks that the documents tell of what is there: each path they cite exists, each link leads somewhere, each
// `npm run` they name is a script.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../lib/command.ts';

const DOCUMENTS = ['*.md', 'docs/**/*.md', 'examples/*/README.md'];
const CODE_SPAN = /`([^`\n]+)`/g;
const PATH = /^(?:apps|packages|agents|tools|e2e|examples|docs|prisma|\.ci)\/[\w@.*{}<>/-]*$/;
const LINK = /\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)/g;
const SCRIPT = /\bnpm run ([\w:-]+)/g;
const BUILT_IN_SCRIPTS = new Set(['start', 'test']);

export function checkDocuments(root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
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
      ];
    });
  });
}

/** `<slug>` and `*` stand for anything, at least one of which must be there. */
function exists(root: string, path: string): boolean {
  if (!/[<*{]/.test(path)) return existsSync(join(root, path));
  return globSync(path.replaceAll(/<[^>]*>/g, '*').replace(/\/$/, ''), { cwd: root }).length > 0;
}

if (import.meta.main) {
  const findings = checkDocuments(ROOT);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
