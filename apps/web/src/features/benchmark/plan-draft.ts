// Text of a plan's form. It keeps what the form doesn't show, such as the host of an uploaded plan. Pure.
import { plainPlan } from '@fairlead/core/benchmark/plan';
import type { BenchmarkPlan } from '@fairlead/core/benchmark/schema';
import { parseConcurrency } from './results.ts';

export interface PlanDraft {
  readonly base: BenchmarkPlan;
  readonly path: string;
  readonly concurrency: string;
  readonly seconds: string;
  readonly repeats: string;
  readonly protocols: readonly BenchmarkPlan['protocols'][number][];
}

const firstPlan: BenchmarkPlan = {
  path: '/',
  targets: ['proxy', 'direct'],
  protocols: ['http1', 'http2'],
  concurrency: [1, 8, 32],
  repeats: 3,
  durationMs: 2000,
  warmupMs: 500,
  ...plainPlan,
};

export function draftOf(plan: BenchmarkPlan = firstPlan): PlanDraft {
  return {
    base: plan,
    path: plan.path,
    concurrency: plan.concurrency.join(', '),
    seconds: String(plan.durationMs / 1000),
    repeats: String(plan.repeats),
    protocols: plan.protocols,
  };
}

/** `isComplete` is false while the concurrency is no list of numbers or no protocol is chosen. */
export function planOf(draft: PlanDraft): { readonly plan: BenchmarkPlan; readonly isComplete: boolean } {
  const levels = parseConcurrency(draft.concurrency);
  const plan = {
    ...draft.base,
    path: draft.path,
    concurrency: levels ?? [],
    durationMs: Math.round(Number(draft.seconds) * 1000),
    repeats: Number(draft.repeats),
    protocols: [...draft.protocols],
  };
  return { plan, isComplete: levels !== null && plan.protocols.length > 0 };
}

/** Returns the usual choices, with the plan's own among them. */
export function choicesWith(usual: readonly number[], own: number): string[] {
  return [...new Set([...usual, own])].sort((one, other) => one - other).map(String);
}
