// How many checks and tests passed and failed, over all runners, and what the failed ones said.
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** One entry a failed test: its name and the first lines of why. */
  readonly failures?: readonly string[];
}

export const NOTHING: Outcome = { passed: 0, failed: 0 };

const LINES_MAX = 6;
const LINE_CHARACTERS_MAX = 300;

export function add(a: Outcome, b: Outcome): Outcome {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    failures: [...(a.failures ?? []), ...(b.failures ?? [])],
  };
}

/** An entry of `failures`: what a run says of all its tests is long, and its end is what is read. */
export function failure(name: string, reason: string): string {
  const lines = reason
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, LINES_MAX)
    .map((line) => `    ${line.slice(0, LINE_CHARACTERS_MAX)}`);
  return [`  ${name}`, ...lines].join('\n');
}
