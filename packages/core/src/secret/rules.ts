// Rules of secrets: names, references, and the parser of a pasted .env. Pure and safe for browsers, so that a paste is
// checked before it is sent.

export const secretsMax = 1000;
export const valueBytesMax = 64 * 1024;
/** All values that one release is given, filled in. */
export const snapshotBytesMax = 1024 * 1024;
/** The same of all apps of a server: its whole desired state has to fit into one message of 16 MiB. */
export const serverSecretsBytesMax = 12 * 1024 * 1024;
const nameLengthMax = 128;

// Names that the runtime, the shell or we set ourselves: a secret of that name would break the app or take over a process.
const reservedNames: ReadonlySet<string> = new Set([
  'BASH_ENV',
  'DYLD_INSERT_LIBRARIES',
  'DYLD_LIBRARY_PATH',
  'ENV',
  'GCONV_PATH',
  'HOME',
  'HOST',
  'HOSTNAME',
  'IFS',
  'LD_AUDIT',
  'LD_LIBRARY_PATH',
  'LD_PRELOAD',
  'LOGNAME',
  'NODE_ENV',
  'NODE_OPTIONS',
  'PATH',
  'PORT',
  'PWD',
  'SHELL',
  'SHLVL',
  'TMPDIR',
  'USER',
]);
const reservedPrefixes: readonly string[] = ['FAIRLEAD_', 'LD_', 'DYLD_'];

/** A sentence about what is wrong with the name; null when nothing is. */
export function nameProblem(name: string): string | null {
  if (name.length > nameLengthMax) return `A name has at most ${nameLengthMax} characters.`;
  if (!/^[A-Z_][A-Z0-9_]*$/.test(name)) return 'A name has capital letters, digits and _, and no digit at its start.';
  if (reservedNames.has(name) || reservedPrefixes.some((prefix) => name.startsWith(prefix))) {
    return `${name} is set by Fairlead or the system. Choose another name.`;
  }
  return null;
}

/** A sentence about what is wrong with the value; null when nothing is. */
export function valueProblem(value: string): string | null {
  if (value.includes('\0')) return 'A value has no NUL characters: no process could be given it.';
  if (byteLength(value) > valueBytesMax) return `A value has at most ${valueBytesMax / 1024} KiB.`;
  return null;
}

export function byteLength(value: string): number {
  return new TextEncoder().encode(value).length;
}

// `$${{ NAME }}` is the text itself.
const reference = /(\$?)\$\{\{\s*(?:([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\.)?([A-Z_][A-Z0-9_]*)\s*\}\}/g;

/** Returns each reference in a value, with repeats: NAME or group.NAME. */
export function referencesOf(value: string): string[] {
  return [...value.matchAll(reference)].flatMap(([, dollar, group, name]) =>
    dollar === '$' || name === undefined ? [] : [group === undefined ? name : `${group}.${name}`],
  );
}

/** Substitutes references with their values. */
export function fillIn(value: string, textOf: (reference: string) => string): string {
  return value.replace(reference, (text: string, dollar: string, group: string | undefined, name: string) =>
    dollar === '$' ? text.slice(1) : textOf(group === undefined ? name : `${group}.${name}`),
  );
}

export interface EnvLine {
  readonly name: string;
  readonly value: string;
  /** Line number from one. */
  readonly line: number;
}

export interface EnvText {
  readonly entries: readonly EnvLine[];
  /** Sentences that never repeat a value. */
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/**
 * Reads a .env: `export`, comments, single, double and back-quoted values, also over several lines. The last of a name
 * counts. `nameProblemOf` says what is wrong with a name; default: the rule of secrets.
 */
export function parseEnvText(text: string, nameProblemOf = nameProblem): EnvText {
  const source = text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  const entries = new Map<string, EnvLine>();
  const problems: { line: number; message: string }[] = [];
  let at = 0;
  let line = 1;

  function skipLine(): void {
    const end = source.indexOf('\n', at);
    at = end < 0 ? source.length : end + 1;
    line += 1;
  }

  while (at < source.length) {
    const head = /[^\S\n]*(?:export[^\S\n]+)?([^\s=#'"`]+)[^\S\n]*=[^\S\n]*/y;
    const blank = /[^\S\n]*(?:#[^\n]*)?(?:\n|$)/y;
    blank.lastIndex = at;
    if (blank.test(source)) {
      skipLine();
      continue;
    }
    head.lastIndex = at;
    const name = head.exec(source)?.[1];
    if (name === undefined) {
      problems.push({ line, message: 'This is not NAME=value.' });
      skipLine();
      continue;
    }
    const problem = nameProblemOf(name);
    const start = line;
    at = head.lastIndex;
    const quote = source[at];
    let value: string;
    if (quote === '"' || quote === "'" || quote === '`') {
      const quoted = readQuoted(source, at, quote);
      if (quoted === null) {
        problems.push({ line: start, message: `The quote that the value of ${safeName(name)} opens is never closed.` });
        break;
      }
      value = quoted.value;
      line += source.slice(at, quoted.end).split('\n').length - 1;
      at = quoted.end;
      blank.lastIndex = at;
      if (!blank.test(source)) {
        problems.push({ line: start, message: `There is something behind the closing quote of ${safeName(name)}.` });
      }
      skipLine();
    } else {
      const end = source.indexOf('\n', at);
      const raw = source.slice(at, end < 0 ? source.length : end);
      // A # begins a comment only after a space, because passwords contain it.
      value = raw.replace(/(?:^|\s)#.*$/, '').trim();
      skipLine();
    }
    const wrong = problem ?? valueProblem(value);
    if (wrong === null) {
      entries.delete(name);
      entries.set(name, { name, value, line: start });
    } else {
      problems.push({ line: start, message: wrong });
    }
  }
  return { entries: [...entries.values()], problems };
}

const doubleQuoted: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

function readQuoted(source: string, at: number, quote: string): { value: string; end: number } | null {
  let value = '';
  for (let index = at + 1; index < source.length; index += 1) {
    const character = source[index];
    if (character === quote) return { value, end: index + 1 };
    const next = source[index + 1];
    const escaped = quote === '"' && character === '\\' && next !== undefined ? doubleQuoted[next] : undefined;
    value += escaped ?? character;
    if (escaped !== undefined) index += 1;
  }
  return null;
}

/** Hides a text before a = that may be part of a secret that was pasted without its name. */
function safeName(name: string): string {
  return nameProblem(name) === null ? name : 'this line';
}
