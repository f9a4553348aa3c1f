// Merges the stored and the streamed lines of a deployment's log by line number. Pure. Invariant: no line is shown
// twice, and gaps are known, because every line has a number.
import { type LogViewLine, plainText } from '@fairlead/ui/lib/log-rows';

export interface DeploymentLogLine {
  readonly stream: 'system' | 'stdout' | 'stderr';
  readonly step: string;
  readonly text: string;
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
      out.push({ text: left === missing ? lostLinesText(missing) : '', group, tone: 'system' });
    }
  };
  for (const line of lines) {
    if (line.number < out.length) continue;
    fillTo(line.number, line.step);
    out.push(toViewLine(line));
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
    lines.push(toViewLine(line));
  return { lines, hasGap: byNumber.size > lines.length };
}

function toViewLine(line: DeploymentLogLine): LogViewLine {
  const tone = line.stream === 'stderr' ? 'error' : line.stream === 'system' ? 'system' : 'plain';
  return { text: plainText(line.text), group: line.step, tone };
}

function lostLinesText(count: number): string {
  return count === 1 ? '(1 line was lost)' : `(${count} lines were lost)`;
}
