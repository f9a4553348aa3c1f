// Picks the lines of a log that show why a deployment failed. Pure.
import type { LogViewLine } from '@fairlead/ui/lib/log-lines';
import type { DeploymentDetail } from '../../api/types.ts';
import type { NextStep } from '../../common/deployment/failure.ts';
import { type RecognisedError, recogniseError } from './log-errors.ts';

export interface DeploymentFailure {
  readonly message: string | null;
  /** Name of the step. */
  readonly failedStep: string | null;
}

export function failureOf({ failureMessage, steps }: DeploymentDetail): DeploymentFailure {
  return { message: failureMessage, failedStep: steps.find((step) => step.state === 'failed')?.name ?? null };
}

export interface FailingLines {
  /** Index of the line that names the failure. */
  readonly main: number;
  /** Indexes of the excerpt around it; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  /** Advice of the recognised error; null if the failure's own sentence says it. */
  readonly advice: string | null;
  readonly step: NextStep | null;
}

/** Excerpt of a log, without the rest of it. */
export interface FailureExcerptLines {
  readonly lines: readonly LogViewLine[];
  /** Indexes within `lines`. */
  readonly failing: FailingLines;
}

const LINES_BEFORE = 3;
const LINES_AFTER = 5;
/** Lines of an error further away belong to another one. */
const LINES_MAX = 12;
const TRACEBACK = /^\s*Traceback \(most recent call last\):/;

/**
 * Prefers the line that the failure's message quotes, then the first error with advice and the first error of the step that failed.
 * Null: the log has no line of the app's own.
 */
export function failingLines(
  lines: readonly LogViewLine[],
  { message, failedStep }: DeploymentFailure,
): FailingLines | null {
  const errors = lines.flatMap((line, index) => {
    const found = line.system || line.level !== 'error' ? null : recogniseError(line.text);
    return found === null ? [] : [{ index, group: line.group, found }];
  });
  const inStep = errors.filter(({ group }) => group === failedStep);
  const candidates = inStep.length > 0 ? inStep : errors;
  const quoted = quotedLine(lines, message);
  // A traceback begins with a line that names no error.
  const named = candidates.filter(({ index }) => !TRACEBACK.test(lines[index]?.text ?? ''));
  const best = candidates.find(({ found }) => found.advice !== null) ?? named[0] ?? candidates[0];
  const main = quoted ?? best?.index ?? lastOwnLine(lines);
  if (main === null) return null;
  const known = quoted === null ? (best?.found ?? null) : recogniseError(lines[quoted]?.text ?? '');
  return { main, ...excerptAround(lines, main), ...adviceOf(known) };
}

/** Returns the lines of the excerpt alone. */
export function cutExcerpt(lines: readonly LogViewLine[], failing: FailingLines): FailureExcerptLines {
  const { main, from, to } = failing;
  return { lines: lines.slice(from, to), failing: { ...failing, main: main - from, from: 0, to: to - from } };
}

function adviceOf(found: RecognisedError | null): Pick<FailingLines, 'advice' | 'step'> {
  return { advice: found?.advice ?? null, step: found?.step ?? null };
}

/** Index of the line that the sentence quotes in backticks. */
function quotedLine(lines: readonly LogViewLine[], message: string | null): number | null {
  const quotes = (message ?? '').split('`').filter((_, index) => index % 2 === 1);
  // In a quotation, the agent replaces backticks by apostrophes and truncates long lines.
  const isQuoted = (text: string) => {
    const plain = text.replaceAll('`', "'").trim();
    return quotes.some((quote) => plain === quote || (quote.endsWith('…') && plain.startsWith(quote.slice(0, -1))));
  };
  const index = lines.findLastIndex((line) => !line.system && isQuoted(line.text));
  return index === -1 ? null : index;
}

function lastOwnLine(lines: readonly LogViewLine[]): number | null {
  const index = lines.findLastIndex((line) => !line.system && line.text.trim() !== '');
  return index === -1 ? null : index;
}

/** Lines of the same step around it, without blank lines at the ends. A Python traceback begins further above. */
function excerptAround(lines: readonly LogViewLine[], main: number): { from: number; to: number } {
  const group = lines[main]?.group;
  const belongs = (index: number) => {
    const line = lines[index];
    return line !== undefined && line.group === group && !line.system;
  };
  const isBlank = (index: number) => lines[index]?.text.trim() === '';
  const traceback = tracebackBefore(lines, main, belongs);
  let from = main;
  while (from > (traceback ?? main - LINES_BEFORE) && belongs(from - 1)) from -= 1;
  let to = main + 1;
  while (to <= main + LINES_AFTER && belongs(to)) to += 1;
  while (from < main && isBlank(from)) from += 1;
  while (to - 1 > main && isBlank(to - 1)) to -= 1;
  return { from: Math.max(from, main - LINES_MAX), to };
}

function tracebackBefore(
  lines: readonly LogViewLine[],
  main: number,
  belongs: (index: number) => boolean,
): number | null {
  for (let index = main - 1; index >= main - LINES_MAX && belongs(index); index -= 1) {
    const text = lines[index]?.text ?? '';
    if (TRACEBACK.test(text)) return index;
    // Frames of a traceback are indented.
    if (text !== '' && !text.startsWith(' ')) return null;
  }
  return null;
}
