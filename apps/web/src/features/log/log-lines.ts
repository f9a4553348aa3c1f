// Merges an app's log lines: older pages and the live tail. Pure.
import type { LogLine } from '../../api/types.ts';

/**
 * Maximum lines of the live tail, more than a person scrolls through; older ones stay on the server and can be
 * searched.
 */
export const TAIL_LINES_MAX = 2000;

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
  if (!isSorted) all.sort((left, right) => left.unixMs - right.unixMs);
  return all.slice(-TAIL_LINES_MAX);
}
