// Merges the stored and the streamed lines of a deployment's log by line number. Pure. Invariant: no line is shown
// twice, and gaps are known, because every line has a number.

import type { LogViewLine } from '@fairlead/ui/lib/log-lines';
import { plainText } from '@fairlead/ui/lib/plain-text';
import { levelOfLine } from './log-errors.ts';

export interface DeploymentLogLine {
  readonly stream: 'system' | 'stdout' | 'stderr';
  readonly step: string;
  readonly text: string;
  readonly unixMs: number;
}

export interface LiveBatch {
  readonly firstLine: number;
  readonly lines: readonly DeploymentLogLine[];
}

/** Returns stored lines from 0 to `end`. A missing range is lost for good and is reported in its place. */
export function storedLines(
  lines: readonly (DeploymentLogLine & { readonly number: number })[],
  end: number,
): LogViewLine[] {
  const out: LogViewLine[] = [];
  const fillTo = (number: number, group: string) => {
    const missing = number - out.length;
    for (let left = missing; left > 0; left -= 1) {
      const text = left === missing ? lostLinesText(missing) : '';
      out.push({ ...viewLine({ stream: 'system', step: group, text, unixMs: 0 }, out.length), unixMs: null });
    }
  };
  for (const line of lines) {
    if (line.number < out.length) continue;
    fillTo(line.number, line.step);
    out.push(viewLine(line, line.number));
  }
  fillTo(end, lines.at(-1)?.step ?? '');
  return out;
}

export interface Tail {
  readonly lines: readonly LogViewLine[];
  /** True if live lines are ahead of the store, so that the gap must be read. */
  readonly hasGap: boolean;
}

/** Returns the live lines that directly follow the stored ones, which stop at `end`. */
export function liveTail(batches: readonly LiveBatch[], end: number): Tail {
  const byNumber = new Map<number, DeploymentLogLine>();
  for (const batch of batches) {
    batch.lines.forEach((line, index) => {
      const number = batch.firstLine + index;
      if (number >= end) byNumber.set(number, line);
    });
  }
  const lines: LogViewLine[] = [];
  for (let line = byNumber.get(end); line !== undefined; line = byNumber.get(end + lines.length))
    lines.push(viewLine(line, end + lines.length));
  return { lines, hasGap: byNumber.size > lines.length };
}

/** `number` counts from 0. */
export function viewLine({ stream, step, text: raw, unixMs }: DeploymentLogLine, number: number): LogViewLine {
  const text = plainText(raw);
  const system = stream === 'system';
  const level = system ? null : levelOfLine(text);
  return { id: `L${number + 1}`, raw, text, group: step, level, system, unixMs, source: '', json: null };
}

function lostLinesText(count: number): string {
  return count === 1 ? '(1 line was lost)' : `(${count} lines were lost)`;
}
