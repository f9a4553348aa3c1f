// How many checks and tests passed and failed, over all runners.
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
}

export const NOTHING: Outcome = { passed: 0, failed: 0 };

export function add(a: Outcome, b: Outcome): Outcome {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed };
}
