// Lines, rows and search of a log view. Pure, and linear in the number of lines, because it runs on every new batch.
import type { AnsiPart } from './ansi.ts';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

export interface LogField {
  readonly name: string;
  readonly value: string;
}

export interface LogViewLine {
  /** Name of the line in a link; unique in its log. */
  readonly id: string;
  /** As it was written, with terminal codes. */
  readonly raw: string;
  /** Without terminal codes. */
  readonly text: string;
  /** Title of the group; consecutive lines with the same one form a group. Empty: no group. */
  readonly group: string;
  readonly level: LogLevel | null;
  /** Fairlead itself wrote it. */
  readonly system: boolean;
  readonly unixMs: number | null;
  /** Process that wrote it; empty: not known. */
  readonly source: string;
  /** Message and fields of a line that is a JSON object; null for others. */
  readonly json: JsonLine | null;
}

export type LogRow =
  /** Content above the first line. */
  | { readonly kind: 'head' }
  | { readonly kind: 'group'; readonly group: string; readonly lineCount: number; readonly folded: boolean }
  | { readonly kind: 'line'; readonly index: number };

export function layoutRows(
  lines: readonly Pick<LogViewLine, 'group'>[],
  folded: ReadonlySet<string>,
  hasHead = false,
): LogRow[] {
  const rows: LogRow[] = hasHead ? [{ kind: 'head' }] : [];
  let start = 0;
  while (start < lines.length) {
    const group = lines[start]?.group ?? '';
    let end = start + 1;
    while (end < lines.length && lines[end]?.group === group) end += 1;
    const isFolded = group !== '' && folded.has(group);
    if (group !== '') rows.push({ kind: 'group', group, lineCount: end - start, folded: isFolded });
    for (let index = start; index < end && !isFolded; index += 1) rows.push({ kind: 'line', index });
    start = end;
  }
  return rows;
}

/** Returns the row of a line, or -1 while its group is folded. */
export function rowOfLine(rows: readonly LogRow[], lineIndex: number): number {
  return rows.findIndex((row) => row.kind === 'line' && row.index === lineIndex);
}

/** Returns indexes of the lines that contain the query, ignoring case; none for an empty query. */
export function findMatches(lines: readonly Pick<LogViewLine, 'text'>[], query: string): number[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return [];
  const found: number[] = [];
  lines.forEach((line, index) => {
    if (line.text.toLowerCase().includes(wanted)) found.push(index);
  });
  return found;
}

export interface MarkedPart extends AnsiPart {
  readonly matched: boolean;
}

/** Splits styled parts at the matches of the query, also at one that spans several parts. */
export function markMatches(parts: readonly AnsiPart[], query: string): MarkedPart[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return parts.map((part) => ({ ...part, matched: false }));
  const lower = parts
    .map(({ text }) => text)
    .join('')
    .toLowerCase();
  const edges: number[] = [];
  for (let hit = lower.indexOf(wanted); hit !== -1; hit = lower.indexOf(wanted, hit + wanted.length)) {
    edges.push(hit, hit + wanted.length);
  }
  const marked: MarkedPart[] = [];
  let start = 0;
  for (const part of parts) {
    const end = start + part.text.length;
    const cuts = [start, ...edges.filter((edge) => edge > start && edge < end), end];
    for (const [at, from] of cuts.slice(0, -1).entries()) {
      const to = cuts[at + 1] ?? end;
      // Matches are between an even edge and the next one.
      const matched = edges.findLastIndex((edge) => edge <= from) % 2 === 0;
      if (from < to) marked.push({ ...part, text: part.text.slice(from - start, to - start), matched });
    }
    start = end;
  }
  return marked;
}

/** Returns the line's id in the hash of a page, `#L12`; null for none. */
export function idOfHash(hash: string): string | null {
  return /^#[A-Za-z][\w.-]{0,63}$/.test(hash) ? hash.slice(1) : null;
}

export interface JsonLine {
  /** Text of its message; the whole line if it has none. */
  readonly message: string;
  readonly fields: readonly LogField[];
}

const MESSAGE_NAMES = ['msg', 'message'];
/** Fields that have columns of their own. */
const COLUMN_NAMES: ReadonlySet<string> = new Set([
  'level',
  'severity',
  'lvl',
  'time',
  'timestamp',
  'ts',
  '@timestamp',
]);

/** Parses a line that is a JSON object; null for any other. Nested values stay JSON. */
export function jsonLine(text: string): JsonLine | null {
  if (!text.startsWith('{') || !text.trimEnd().endsWith('}')) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Text in braces that is no JSON.
    return null;
  }
  const entries = Object.entries(value as Record<string, unknown>);
  const message = entries.find(([name, each]) => MESSAGE_NAMES.includes(name) && typeof each === 'string');
  const fields = entries
    .filter((entry) => entry !== message && !COLUMN_NAMES.has(entry[0]))
    .map(([name, each]) => ({ name, value: typeof each === 'string' ? each : JSON.stringify(each) }));
  return { message: message === undefined ? '' : String(message[1]), fields };
}

/** Reports whether a line has all of these fields. */
export function hasFields({ json }: Pick<LogViewLine, 'json'>, wanted: readonly LogField[]): boolean {
  return wanted.every(({ name, value }) => json?.fields.some((each) => each.name === name && each.value === value));
}

export interface FieldChoice {
  readonly name: string;
  readonly values: readonly { readonly value: string; readonly count: number }[];
}

/** Values of a field beyond this are distinct for each line, such as request ids, and are no choice. */
const CHOICES_MAX = 20;
const CHOICE_LENGTH_MAX = 60;

/** Lists the fields of the lines with few values, by frequency. */
export function fieldChoices(lines: readonly Pick<LogViewLine, 'json'>[]): FieldChoice[] {
  const counts = new Map<string, Map<string, number>>();
  for (const { json } of lines) {
    for (const { name, value } of json?.fields ?? []) {
      const values = counts.get(name) ?? new Map<string, number>();
      counts.set(name, values.set(value, (values.get(value) ?? 0) + 1));
    }
  }
  return [...counts]
    .filter(
      ([, values]) =>
        values.size <= CHOICES_MAX && [...values.keys()].every((each) => each.length <= CHOICE_LENGTH_MAX),
    )
    .map(([name, values]) => ({
      name,
      values: [...values].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count),
    }));
}
