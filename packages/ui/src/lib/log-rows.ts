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
  /** A line, or the part of a long one that fits the width: characters `from` to `to`, the end not included. */
  | { readonly kind: 'line'; readonly index: number; readonly from: number; readonly to: number };

/** `columns` is how many characters fit side by side; longer lines go on in the next row. */
export function layoutRows(lines: readonly LogViewLine[], folded: ReadonlySet<string>, columns: number): LogRow[] {
  const width = Math.max(1, columns);
  const rows: LogRow[] = [];
  let start = 0;
  while (start < lines.length) {
    const group = lines[start]?.group ?? '';
    let end = start + 1;
    while (end < lines.length && lines[end]?.group === group) end += 1;
    const isFolded = folded.has(group);
    rows.push({ kind: 'group', group, lineCount: end - start, folded: isFolded });
    for (let index = start; index < end && !isFolded; index += 1) {
      const text = lines[index]?.text ?? '';
      for (let from = 0; ; ) {
        const to = breakAt(text, from, width);
        rows.push({ kind: 'line', index, from, to });
        if (to >= text.length) break;
        from = to;
      }
    }
    start = end;
  }
  return rows;
}

/** After the last space that fits, so that words stay whole; a word longer than most of the width is cut. */
function breakAt(text: string, from: number, width: number): number {
  if (text.length - from <= width) return text.length;
  const space = text.lastIndexOf(' ', from + width - 1);
  return space - from > width / 2 ? space + 1 : from + width;
}

/** Where a line begins among the rows, or -1 while its group is folded. */
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

/** The part of a line from `from` to `to`, cut at what was searched; a match that goes on in the next row is cut there. */
export function splitMatches(text: string, query: string, from = 0, to = text.length): TextPart[] {
  const wanted = query.trim().toLowerCase();
  const parts: TextPart[] = [];
  const add = (start: number, end: number, matched: boolean) => {
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    if (first < last) parts.push({ text: text.slice(first, last), matched });
  };
  const lower = text.toLowerCase();
  let at = 0;
  while (wanted !== '') {
    const hit = lower.indexOf(wanted, at);
    if (hit === -1) break;
    add(at, hit, false);
    add(hit, hit + wanted.length, true);
    at = hit + wanted.length;
  }
  add(at, text.length, false);
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

// Colour codes and cursor moves of a terminal, and other control characters except the tab, which becomes columns. Put together from escapes,
// so that no control character stands in the source.
const CONTROL = new RegExp(
  [
    '\\u001b\\[[0-?]*[ -/]*[@-~]',
    '\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)',
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f]',
  ].join('|'),
  'g',
);

/** A line as plain text in columns; what a carriage return overwrote is gone, as on a terminal. */
export function plainText(text: string): string {
  const withoutReturn = text.endsWith('\r') ? text.slice(0, -1) : text;
  return withoutReturn
    .slice(withoutReturn.lastIndexOf('\r') + 1)
    .replace(CONTROL, '')
    .replaceAll('\t', '    ');
}
