// What a log view shows, decided without a screen: which rows there are, where a line stands, what a search finds.
// Pure, and linear in the number of lines: it runs again on every batch that arrives.

export interface LogViewLine {
  readonly text: string;
  /** Lines of one group stand together under its title; consecutive lines share it. */
  readonly group: string;
  readonly tone: 'plain' | 'system' | 'error';
}

export type LogRow =
  | { readonly kind: 'group'; readonly group: string; readonly lineCount: number; readonly folded: boolean }
  | { readonly kind: 'line'; readonly index: number };

export function layoutRows(lines: readonly LogViewLine[], folded: ReadonlySet<string>): LogRow[] {
  const rows: LogRow[] = [];
  let start = 0;
  while (start < lines.length) {
    const group = lines[start]?.group ?? '';
    let end = start + 1;
    while (end < lines.length && lines[end]?.group === group) end += 1;
    const isFolded = folded.has(group);
    rows.push({ kind: 'group', group, lineCount: end - start, folded: isFolded });
    if (!isFolded) for (let index = start; index < end; index += 1) rows.push({ kind: 'line', index });
    start = end;
  }
  return rows;
}

/** Where a line stands among the rows, or -1 while its group is folded. */
export function rowOfLine(rows: readonly LogRow[], lineIndex: number): number {
  return rows.findIndex((row) => row.kind === 'line' && row.index === lineIndex);
}

/** Indexes of the lines that hold the words, upper and lower case alike; nothing is found by an empty search. */
export function findMatches(lines: readonly LogViewLine[], query: string): number[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return [];
  const found: number[] = [];
  lines.forEach((line, index) => {
    if (line.text.toLowerCase().includes(wanted)) found.push(index);
  });
  return found;
}

export interface TextPart {
  readonly text: string;
  readonly matched: boolean;
}

/** A line cut at what was searched, for highlighting. */
export function splitMatches(text: string, query: string): TextPart[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return [{ text, matched: false }];
  const parts: TextPart[] = [];
  const lower = text.toLowerCase();
  let at = 0;
  for (let hit = lower.indexOf(wanted); hit !== -1; hit = lower.indexOf(wanted, at)) {
    if (hit > at) parts.push({ text: text.slice(at, hit), matched: false });
    parts.push({ text: text.slice(hit, hit + wanted.length), matched: true });
    at = hit + wanted.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), matched: false });
  return parts;
}

/** `#L12` as a line index from 0; null when the hash is something else. */
export function lineOfHash(hash: string): number | null {
  const match = /^#L([1-9]\d{0,6})$/.exec(hash);
  return match?.[1] === undefined ? null : Number(match[1]) - 1;
}

export interface Window {
  readonly first: number;
  readonly last: number;
}

const OVERSCAN_ROWS = 24;

/** The rows worth drawing at a scroll position; `last` is one past the end. */
export function visibleWindow(scrollTop: number, height: number, rowHeight: number, count: number): Window {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - OVERSCAN_ROWS);
  const last = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + OVERSCAN_ROWS);
  return { first: Math.min(first, last), last };
}

// Colour codes and cursor moves of a terminal, and other control characters except the tab. Put together from escapes,
// so that no control character stands in the source.
const CONTROL = new RegExp(
  [
    '\\u001b\\[[0-?]*[ -/]*[@-~]',
    '\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)',
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f]',
  ].join('|'),
  'g',
);

/** A line as plain text; what a carriage return overwrote is gone, as on a terminal. */
export function plainText(text: string): string {
  const withoutReturn = text.endsWith('\r') ? text.slice(0, -1) : text;
  return withoutReturn.slice(withoutReturn.lastIndexOf('\r') + 1).replace(CONTROL, '');
}
