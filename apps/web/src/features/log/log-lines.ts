// The lines of an app's log put together: pages that go back in time, and a tail that goes on. Pure.
import type { LogLine } from '../../api/types.ts';

/** More than a person scrolls through; the rest stays on the server and is found by a search. */
export const TAIL_LINES_MAX = 2000;

export interface LogPage {
  /** The oldest first. */
  readonly lines: readonly LogLine[];
  readonly more: boolean;
}

/** Pages as they were asked for, the newest first. A moment cut by a page's limit is whole in the page before it. */
export function joinPages(pages: readonly LogPage[]): LogLine[] {
  return pages
    .flatMap((page, index) => {
      const isLast = index === pages.length - 1;
      const oldest = page.lines[0]?.unixMs ?? 0;
      const older = pages[index + 1];
      // When one moment fills the older page too, it was asked for what lies before that moment.
      const overlaps = !isLast && older?.lines.at(-1)?.unixMs === oldest;
      return [overlaps ? page.lines.filter((line) => line.unixMs > oldest) : page.lines];
    })
    .reverse()
    .flat();
}

/** Until when the next page goes; null when nothing older matches. */
export function olderThan(pages: readonly LogPage[]): number | null {
  const last = pages.at(-1);
  const oldest = last?.lines[0]?.unixMs;
  if (last === undefined || oldest === undefined || !last.more) return null;
  const isOneMoment = last.lines.every((line) => line.unixMs === oldest);
  return isOneMoment ? oldest - 1 : oldest;
}

/** Servers speak in turn: lines that arrive late are put where they belong. */
export function appendTail(lines: readonly LogLine[], arrived: readonly LogLine[]): LogLine[] {
  const all = [...lines, ...arrived];
  const isSorted = (lines.at(-1)?.unixMs ?? 0) <= (arrived[0]?.unixMs ?? 0);
  if (!isSorted) all.sort((left, right) => left.unixMs - right.unixMs);
  return all.slice(-TAIL_LINES_MAX);
}
