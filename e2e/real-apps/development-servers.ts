// Recognizes development servers: by the command lines of an instance's processes and by the Server header.
import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Programs that are development servers, with the argument that makes them one. */
const WITH_WORD: ReadonlyMap<string, readonly string[]> = new Map([
  ['next', ['dev']],
  ['nuxt', ['dev']],
  ['nuxi', ['dev']],
  ['astro', ['dev', 'preview']],
  ['gatsby', ['develop']],
  ['react-scripts', ['start']],
  ['vue-cli-service', ['serve']],
  ['webpack', ['serve', '--watch']],
  ['ng', ['serve']],
  ['nest', ['start']],
  ['remix', ['dev', 'vite:dev']],
  ['react-router', ['dev']],
  ['vinxi', ['dev']],
  ['solid-start', ['dev']],
  ['docusaurus', ['start']],
  ['eleventy', ['--serve', '--watch']],
  ['strapi', ['develop']],
  ['rollup', ['-w', '--watch']],
  ['grunt', ['dev', 'watch', 'serve']],
  ['gulp', ['dev', 'watch', 'serve', 'start']],
  ['flask', ['run']],
  ['manage.py', ['runserver']],
  ['fastapi', ['dev']],
  ['uvicorn', ['--reload']],
  ['gunicorn', ['--reload']],
  ['hypercorn', ['--reload']],
  ['hugo', ['server', 'serve']],
  ['jekyll', ['serve']],
  ['node', ['--watch']],
  ['bun', ['--watch', '--hot']],
  ['deno', ['--watch']],
  ['tsx', ['watch']],
  ['cargo', ['run', 'watch']],
  ['go', ['run']],
]);
const ALWAYS = [
  'nodemon',
  'webpack-dev-server',
  'browser-sync',
  'live-server',
  'ts-node-dev',
  'tsnd',
  'node-dev',
  'air',
];
/** Programs that serve unless an argument makes them do something else. */
const UNLESS: ReadonlyMap<string, readonly string[]> = new Map([
  ['vite', ['build', 'optimize']],
  ['vitepress', ['build']],
  ['parcel', ['build']],
]);
/** Packages with the command's program in a file of another name. */
const FILES: readonly (readonly [RegExp, string])[] = [
  [/\/react-scripts\/scripts\/start\.js$/, 'react-scripts start'],
  [/\/next\/dist\/server\/lib\/start-server\.js$/, 'next dev'],
  [/\/webpack-dev-server\//, 'webpack-dev-server'],
];
const SERVER_HEADERS = /^(?:Werkzeug|WSGIServer|SimpleHTTP)\//;

/** Returns the name of the development server that a command line runs; undefined if none. */
export function developmentServer(argv: readonly string[]): string | undefined {
  for (const [pattern, name] of FILES) if (argv.some((word) => pattern.test(word))) return name;
  for (const [at, word] of argv.entries()) {
    const program = programOf(word);
    const rest = argv.slice(at + 1);
    if (ALWAYS.includes(program)) return program;
    const starting = WITH_WORD.get(program)?.find((each) => rest.includes(each));
    if (starting !== undefined && isProgram(argv, at)) return `${program} ${starting}`;
    const other = UNLESS.get(program);
    if (other !== undefined && isProgram(argv, at) && !other.some((each) => rest.includes(each))) return program;
  }
  return undefined;
}

/** Returns the development server that a Server header names. */
export function developmentServerOfHeader(header: string | undefined): string | undefined {
  return header !== undefined && SERVER_HEADERS.test(header) ? header : undefined;
}

/** `…/node_modules/vite/bin/vite.js` and `.bin/vite` are both vite; `@11ty/eleventy/cmd.cjs` is eleventy. */
function programOf(word: string): string {
  const parts = word.split('/');
  const base = (parts.at(-1) ?? '').replace(/\.(?:[cm]?js|sh)$/, '');
  if (base === 'cmd' || base === 'index' || base === 'cli') return parts.at(-2) ?? base;
  return base;
}

/** True if a word is a program: it comes first, after an interpreter, or after an interpreter's options. */
function isProgram(argv: readonly string[], at: number): boolean {
  return argv
    .slice(0, at)
    .every((word, index) => index === 0 || word.startsWith('-') || word === 'run' || word === 'exec');
}

/** Returns the command lines of a process, of its descendants and of all others of its user. */
export function commandLines(pid: number): readonly (readonly string[])[] {
  const user = userOf(pid);
  const parents = new Map<number, number>();
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  for (const each of pids) {
    const parent = parentOf(each);
    if (parent !== undefined) parents.set(each, parent);
  }
  const isBelow = (each: number): boolean => {
    for (let at: number | undefined = each; at !== undefined && at > 1; at = parents.get(at))
      if (at === pid) return true;
    return false;
  };
  return pids
    .filter((each) => isBelow(each) || (user !== undefined && user > 0 && userOf(each) === user))
    .map((each) => read(`/proc/${each}/cmdline`).split('\0').filter(Boolean))
    .filter((argv) => argv.length > 0);
}

function userOf(pid: number): number | undefined {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
}

function parentOf(pid: number): number | undefined {
  const parent = /^PPid:\t(\d+)$/m.exec(read(`/proc/${pid}/status`))?.[1];
  return parent === undefined ? undefined : Number(parent);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}
