// Decides from GitHub's answer if the checks that a deployment waits for have passed. Pure.

/** Check run or commit status. Several may have one name. */
export interface CheckResult {
  readonly name: string;
  readonly state: 'pending' | 'passed' | 'failed';
  /** As GitHub names it, such as timed_out. */
  readonly conclusion: string;
}

export type ChecksDecision =
  | { readonly kind: 'passed' }
  | { readonly kind: 'pending'; readonly names: readonly string[] }
  | { readonly kind: 'failed'; readonly name: string; readonly conclusion: string };

/** A failed check decides at once; one that GitHub does not list is pending. */
export function decideChecks(names: readonly string[], results: readonly CheckResult[]): ChecksDecision {
  const failed = results.find(({ name, state }) => state === 'failed' && names.includes(name));
  if (failed !== undefined) return { kind: 'failed', name: failed.name, conclusion: failed.conclusion };
  const pending = names.filter((name) => {
    const own = results.filter((result) => result.name === name);
    return own.length === 0 || own.some(({ state }) => state === 'pending');
  });
  return pending.length === 0 ? { kind: 'passed' } : { kind: 'pending', names: pending };
}
