// `npm run strings`: every sentence and label that a user of the dashboard, of mails or of the command lines can read,
// with its file and line.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Node, parseSync, Visitor } from 'oxc-parser';
import { ROOT } from './lib/command.ts';

export interface UserString {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const SCRIPTS = [
  'apps/web/src/**/*.{ts,tsx}',
  'apps/worker/src/**/*.ts',
  'packages/{api,auth,contract,core,mail,settings,ui}/src/**/*.{ts,tsx}',
  'tools/{backup,start}/**/*.{ts,mjs}',
  'tools/*.{ts,mjs}',
];
const IGNORED = /(^|\/)(node_modules|gen|generated|testing)(\/|$)|\.(test|d)\.m?tsx?$/;
const AGENT_CLI = 'agents/crates/agent/src/cli.rs';
const STATEMENT =
  /^(?:SELECT|INSERT|UPDATE|DELETE|WITH|SET|CREATE|ALTER|DROP|GRANT|LISTEN|NOTIFY|use (?:client|server)$)/;
const CLASS_NAMES = /^[a-z0-9:[\]/.%_()&>*,=#! -]+$/;
// Attributes of JSX that hold code, not words.
const CODE_ATTRIBUTES = new Set(['className', 'href', 'id', 'key', 'name', 'role', 'type', 'value', 'd', 'viewBox']);

export function readStrings(root: string): UserString[] {
  const scripts = globSync(SCRIPTS, { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !IGNORED.test(path))
    .sort()
    .flatMap((path) => scriptStrings(path, readFileSync(join(root, path), 'utf8')));
  return [...scripts, ...helpOfAgent(root)];
}

/** Literals that read as words: they hold a space, or begin with a capital letter and go on in small ones. */
export function scriptStrings(path: string, source: string): UserString[] {
  const found: UserString[] = [];
  const add = (raw: string, start: number) => {
    const text = raw.replace(/\s+/g, ' ').trim();
    if (!/^[A-Z][a-z]/.test(text) && !/\p{L}\S* \S/u.test(text)) return;
    if (STATEMENT.test(text) || (CLASS_NAMES.test(text) && /\S-\S|\S:\S/.test(text))) return;
    found.push({ path, line: source.slice(0, start).split('\n').length, text });
  };
  const code = new Set<Node>();
  new Visitor({
    ImportDeclaration: (node) => void code.add(node.source),
    ExportAllDeclaration: (node) => void code.add(node.source),
    ExportNamedDeclaration: (node) => node.source !== null && void code.add(node.source),
    JSXAttribute: (node) => {
      if (node.name.type === 'JSXIdentifier' && CODE_ATTRIBUTES.has(node.name.name) && node.value !== null)
        code.add(node.value);
    },
    JSXText: (node) => add(node.value, node.start),
    Literal: (node) => typeof node.value === 'string' && !code.has(node) && add(node.value, node.start),
    // `…` stands for each expression of a template, so that the sentence stays one.
    TemplateLiteral: (node) => add(node.quasis.map(({ value }) => value.cooked ?? '').join('…'), node.start),
  }).visit(parseSync(path, source).program);
  return found;
}

/** clap prints the documentation of its structs as help. */
function helpOfAgent(root: string): UserString[] {
  return readFileSync(join(root, AGENT_CLI), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const text = /^\s*\/\/\/ (.*)$/.exec(line)?.[1];
      return text === undefined ? [] : [{ path: AGENT_CLI, line: index + 1, text }];
    });
}

if (import.meta.main) for (const { path, line, text } of readStrings(ROOT)) console.log(`${path}:${line}: ${text}`);
