// Results of a suite by case, and the known gaps. A data file lists each gap with its reason; a gap that has closed is
// a failure until it is removed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Case {
  /** `suite/name`. */
  readonly name: string;
  readonly passed: boolean;
}

export interface SuiteResult {
  readonly suite: string;
  readonly cases: readonly Case[];
  /** Reason why it could not run here; counts as one gap. */
  readonly notRun?: string;
  /** Output, shown when a case failed. */
  readonly output?: string;
}

interface KnownGap {
  /** A case's name; `*` at its end stands for any rest. */
  readonly case: string;
  readonly reason: string;
}

export interface Tally {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Name and reason of each gap. */
  readonly gaps: readonly { readonly name: string; readonly reason: string }[];
}

const KNOWN: readonly KnownGap[] = JSON.parse(readFileSync(join(import.meta.dirname, 'known-gaps.json'), 'utf8'));

function knownGap(name: string, known: readonly KnownGap[] = KNOWN): KnownGap | undefined {
  return known.find((gap) => (gap.case.endsWith('*') ? name.startsWith(gap.case.slice(0, -1)) : gap.case === name));
}

export function tally(result: SuiteResult, known: readonly KnownGap[] = KNOWN): Tally {
  const passed: string[] = [];
  const failed: string[] = [];
  const gaps: { name: string; reason: string }[] = [];
  for (const { name, passed: ok } of result.cases) {
    const gap = knownGap(name, known);
    if (gap === undefined) (ok ? passed : failed).push(name);
    else if (ok) failed.push(`${name} (passes: take it out of known-gaps.json)`);
    else gaps.push({ name, reason: gap.reason });
  }
  if (result.notRun !== undefined) gaps.push({ name: result.suite, reason: `NOT RUN: ${result.notRun}` });
  return { passed, failed, gaps };
}

export function line(suite: string, { passed, failed, gaps }: Tally, seconds: number): string {
  const counts = `${passed.length} passed, ${failed.length} failed, ${gaps.length} known gaps`;
  return `${suite.padEnd(18)} ${seconds.toFixed(1).padStart(7)} s  ${counts}`;
}
