// Fails on comments that do not open with a noun or a verb (CONTRIBUTING.md, "Comments").
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { ROOT } from '../lib/command.ts';

interface Comment {
  readonly line: number;
  readonly text: string;
}

const SOURCES = [
  'agents/**/*.rs',
  '{apps,packages,e2e,prisma,tools}/**/*.{ts,tsx,mts,mjs,js}',
  '{packages,agents}/**/*.{proto,css}',
  'apps/**/*.css',
  'prisma/schema/*.prisma',
];
// Generated code, build output and fixtures, which are not written here.
const IGNORED = /(^|\/)(node_modules|\.next|\.turbo|dist|gen|generated|target|fixtures|golden|test-results)(\/|$)/;

const QUESTION_WORDS =
  /^(?:Of|By|Whose|Whom|Who|Whoever|What|Whatever|Which|Whichever|Where|Wherever|How|However|Whether)\b/;
// A participle shows by the preposition or conjunction after it: "Shared state" is a noun, "Shared by all" is none.
const IRREGULAR_PARTICIPLES =
  'Kept|Held|Told|Made|Taken|Given|Said|Sent|Written|Known|Found|Seen|Begun|Built|Left|Lost|Meant|Shown|Drawn|Chosen|Bound|Brought|Thrown|Spoken';
const PREPOSITIONS =
  'by|to|in|on|at|from|with|when|if|for|as|once|after|before|only|until|while|where|under|beside|into|out|again';
const PARTICIPLE = new RegExp(`^(?:[A-Z][a-z]+(?:ed|ing)|${IRREGULAR_PARTICIPLES}) (?:${PREPOSITIONS})\\b`);

export function checkComments(root: string): string[] {
  return globSync(SOURCES, { cwd: root, exclude: (name) => IGNORED.test(name) })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !IGNORED.test(path))
    .sort()
    .flatMap((path) =>
      readComments(path, readFileSync(join(root, path), 'utf8'))
        .filter(({ text }) => QUESTION_WORDS.test(text) || PARTICIPLE.test(text))
        .map(({ line, text }) => `${path}:${line} opens with "${text.split(' ', 1)[0]}": begin with a noun or a verb`),
    );
}

/** Comments of a file. Line comments without code between them are one comment. */
export function readComments(path: string, source: string): Comment[] {
  return /\.(?:ts|tsx|mts|mjs|js)$/.test(path) ? ofScript(path, source) : ofLines(source);
}

function ofScript(path: string, source: string): Comment[] {
  const starts = lineStarts(source);
  const found: (Comment & { readonly end: number; readonly kind: string })[] = [];
  for (const { type, value, start, end } of parseSync(path, source).comments) {
    const previous = found.at(-1);
    const joins = type === 'Line' && previous?.kind === 'Line' && source.slice(previous.end, start).trim() === '';
    if (!joins) found.push({ line: lineOf(starts, start), text: plain(value), end, kind: type });
    else found[found.length - 1] = { ...previous, end };
  }
  return found;
}

/** Reads languages with comments of `//`, `///`, `//!` and blocks. */
function ofLines(source: string): Comment[] {
  const comments: Comment[] = [];
  let marker = '';
  source.split('\n').forEach((line, index) => {
    const own = /^\s*(\/\/[/!]?|\/\*\*?)\s*(.*)$/.exec(line);
    const trailing = own === null ? /[;{},)]\s+(\/\/)\s+(.*)$/.exec(line) : null;
    const [, mark = '', text = ''] = own ?? trailing ?? [];
    if (mark !== '' && mark !== marker) comments.push({ line: index + 1, text: plain(text) });
    marker = own === null ? '' : mark;
  });
  return comments;
}

function plain(value: string): string {
  return value
    .replace(/^[*!/\s]+/, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function lineStarts(source: string): number[] {
  const starts = [0];
  for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function lineOf(starts: readonly number[], offset: number): number {
  const after = starts.findIndex((start) => start > offset);
  return after === -1 ? starts.length : after;
}

if (import.meta.main) {
  const findings = checkComments(ROOT);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
