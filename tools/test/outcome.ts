// Counts of passed and failed checks and tests over all runners, with the output of failures and the time of test files.
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** One entry for each failed test: its name and the first lines of the reason. */
  readonly failures?: readonly string[];
  readonly files?: readonly TestFile[];
}

export interface TestFile {
  readonly name: string;
  readonly durationMs: number;
}

export const NOTHING: Outcome = { passed: 0, failed: 0 };

const LINES_MAX = 6;
const LINE_CHARACTERS_MAX = 300;

export function add(a: Outcome, b: Outcome): Outcome {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    failures: [...(a.failures ?? []), ...(b.failures ?? [])],
    files: [...(a.files ?? []), ...(b.files ?? [])],
  };
}

/** Returns an entry of `failures`, shortened because the output of a whole run is long and its end is what is read. */
export function failure(name: string, reason: string): string {
  const lines = reason
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, LINES_MAX)
    .map((line) => `    ${line.slice(0, LINE_CHARACTERS_MAX)}`);
  return [`  ${name}`, ...lines].join('\n');
}
