// Layout and search of a log view: rows, positions and matches. Pure, and linear in the number of lines, because it
// runs on every new batch.

export interface LogViewLine {
  readonly text: string;
  /** Title of the group; consecutive lines with the same title form one group. */
  readonly group: string;
  readonly tone: 'plain' | 'system' | 'error';
}

export type LogRow =
  | { readonly kind: 'group'; readonly group: string; readonly lineCount: number; readonly folded: boolean }
  /** Line, or the part of a wrapped one: characters `from` to `to`, the end exclusive. */
  | { readonly kind: 'line'; readonly index: number; readonly from: number; readonly to: number };

/** Lays out lines as rows; a line longer than `columns` characters wraps. */
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

/** Returns the wrap position: after the last space that fits. A word longer than most of the width is split. */
function breakAt(text: string, from: number, width: number): number {
  if (text.length - from <= width) return text.length;
  const space = text.lastIndexOf(' ', from + width - 1);
  return space - from > width / 2 ? space + 1 : from + width;
}

/** Returns the first row of a line, or -1 while its group is folded. */
export function rowOfLine(rows: readonly LogRow[], lineIndex: number): number {
  return rows.findIndex((row) => row.kind === 'line' && row.index === lineIndex);
}

/** Returns indexes of the lines that contain the query, ignoring case; none for an empty query. */
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

/** Splits characters `from` to `to` of a line at the matches of the query; a match across a wrap is split there. */
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

/** Parses `#L12` to a line index from 0; null for any other hash. */
export function lineOfHash(hash: string): number | null {
  const match = /^#L([1-9]\d{0,6})$/.exec(hash);
  return match?.[1] === undefined ? null : Number(match[1]) - 1;
}

export interface Window {
  readonly first: number;
  readonly last: number;
}

const OVERSCAN_ROWS = 24;

/** Returns the rows to render at a scroll position; `last` is exclusive. */
export function visibleWindow(scrollTop: number, height: number, rowHeight: number, count: number): Window {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - OVERSCAN_ROWS);
  const last = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + OVERSCAN_ROWS);
  return { first: Math.min(first, last), last };
}

// Terminal colour codes, cursor moves, and other control characters except the tab, which becomes spaces. Built from
// escapes, so that the source contains no control character.
const CONTROL = new RegExp(
  [
    '\\u001b\\[[0-?]*[ -/]*[@-~]',
    '\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)',
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f]',
  ].join('|'),
  'g',
);

/** Returns a line as plain text with tabs expanded; a carriage return overwrites, as on a terminal. */
export function plainText(text: string): string {
  const withoutReturn = text.endsWith('\r') ? text.slice(0, -1) : text;
  return withoutReturn
    .slice(withoutReturn.lastIndexOf('\r') + 1)
    .replace(CONTROL, '')
    .replaceAll('\t', '    ');
}
