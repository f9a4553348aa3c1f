// Merges an app's log lines, older pages and the live tail, and turns them into lines of the log view. Pure.

import { jsonLine, type LogField, type LogLevel, type LogViewLine } from '@fairlead/ui/lib/log-lines';
import { plainText } from '@fairlead/ui/lib/plain-text';
import type { LogLine } from '../../api/types.ts';

/** Lines of the live tail, after which the view begins anew with the newest ones. */
export const TAIL_LINES_MAX = 20_000;
export const TAIL_LINES_KEPT = 2000;

export interface LogPage {
  /** Lines, oldest first. */
  readonly lines: readonly LogLine[];
  readonly more: boolean;
}

/** Joins pages that come newest first. A millisecond that a page limit split is complete in the older page. */
export function joinPages(pages: readonly LogPage[]): LogLine[] {
  return pages
    .flatMap((page, index) => {
      const isLast = index === pages.length - 1;
      const oldest = page.lines[0]?.unixMs ?? 0;
      const older = pages[index + 1];
      // When one millisecond fills the older page too, the request skipped the rest of that millisecond.
      const overlaps = !isLast && older?.lines.at(-1)?.unixMs === oldest;
      return [overlaps ? page.lines.filter((line) => line.unixMs > oldest) : page.lines];
    })
    .reverse()
    .flat();
}

/** Returns the end of the next older page; null when nothing older matches. */
export function olderThan(pages: readonly LogPage[]): number | null {
  const last = pages.at(-1);
  const oldest = last?.lines[0]?.unixMs;
  if (last === undefined || oldest === undefined || !last.more) return null;
  const isOneMoment = last.lines.every((line) => line.unixMs === oldest);
  return isOneMoment ? oldest - 1 : oldest;
}

/** Merges lines of several servers: late lines are sorted in. */
export function appendTail(lines: readonly LogLine[], arrived: readonly LogLine[]): LogLine[] {
  const all = [...lines, ...arrived];
  const isSorted = (lines.at(-1)?.unixMs ?? 0) <= (arrived[0]?.unixMs ?? 0);
  return isSorted ? all : sorted(all);
}

/**
 * Joins stored lines, which were read after the tail had begun, with the tail. Each server's tail begins with its newest lines, so
 * the two overlap. `floorMs`: stored lines before it are not loaded, so older ones of a tail would stand beside a gap.
 */
export function mergeTail(history: readonly LogLine[], tail: readonly LogLine[], floorMs: number): LogLine[] {
  const tailStarts = new Map<string, number>();
  for (const { serverId, unixMs } of tail) {
    tailStarts.set(serverId, Math.min(unixMs, tailStarts.get(serverId) ?? unixMs));
  }
  // A limit may have split the first millisecond of a tail: it is complete where it has more lines.
  const countAtStart = (lines: readonly LogLine[], serverId: string) =>
    lines.filter((line) => line.serverId === serverId && line.unixMs === tailStarts.get(serverId)).length;
  const isStored = new Map(
    [...tailStarts.keys()].map((id) => [id, countAtStart(history, id) > countAtStart(tail, id)] as const),
  );
  const kept = history.filter(({ serverId, unixMs }) => {
    const start = tailStarts.get(serverId);
    return start === undefined || unixMs < start || (unixMs === start && isStored.get(serverId) === true);
  });
  const added = tail.filter(
    ({ serverId, unixMs }) =>
      unixMs >= floorMs && !(unixMs === tailStarts.get(serverId) && isStored.get(serverId) === true),
  );
  const all = [...kept, ...added];
  return (kept.at(-1)?.unixMs ?? 0) <= (added[0]?.unixMs ?? 0) ? all : sorted(all);
}

function sorted(lines: LogLine[]): LogLine[] {
  return lines.sort((left, right) => left.unixMs - right.unixMs);
}

const LEVELS: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

/**
 * A line's id is its moment and the sum of its text, so that a filter, which leaves out other lines of the moment, does not
 * change it. Equal lines of a moment are numbered.
 */
export function toViewLines(lines: readonly LogLine[]): LogViewLine[] {
  const equal = new Map<string, number>();
  return lines.map((line) => {
    const text = plainText(line.text);
    const base = `T${line.unixMs}.${sumOf(line.text)}`;
    const before = equal.get(base) ?? 0;
    equal.set(base, before + 1);
    const system = line.stream === 'system';
    return {
      id: before === 0 ? base : `${base}.${before}`,
      raw: line.text,
      text,
      group: '',
      level: LEVELS.find((each) => each === line.level) ?? null,
      system,
      unixMs: line.unixMs,
      source: system ? 'fairlead' : line.process,
      json: system ? null : jsonLine(text),
    };
  });
}

/** Returns a number of at most six digits (FNV-1a, 32 bits, modulo a million). */
function sumOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % 1_000_000;
}

/** Parses the id of a line to its moment; null for any other text. */
export function momentOfId(id: string): number | null {
  const match = /^T(\d{1,15})\.\d{1,6}(?:\.\d{1,6})?$/.exec(id);
  return match?.[1] === undefined ? null : Number(match[1]);
}

/** Reads and writes the fields of a filter as one text for the URL. */
export function parseFields(text: string): LogField[] {
  return [...new URLSearchParams(text)].map(([name, value]) => ({ name, value }));
}

export function formatFields(fields: readonly LogField[]): string {
  return new URLSearchParams(fields.map(({ name, value }): [string, string] => [name, value])).toString();
}

const REGEX_LENGTH_MAX = 500;

/**
 * Returns a regular expression by which a server finds lines with that field. It may find more: the browser checks again. Null for
 * nested values, whose spaces it does not know.
 */
export function regexOfField({ name, value }: LogField): string | null {
  if (/^[[{]/.test(value)) return null;
  const quote = (text: string) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const regex = `"${quote(name)}"\\s*:\\s*"?${quote(value)}"?\\s*[,}]`;
  return regex.length > REGEX_LENGTH_MAX ? null : regex;
}
