// Rules of the overview: totals and the first-run checklist. Pure.
import type { DayTraffic } from '../metric/index.ts';
import { type Checklist, type ChecklistStep, checklistStepSchema, type Totals } from './schema.ts';

export interface DeploymentCounts {
  readonly current: number;
  readonly before: number;
  /** True if one was made before the current day. */
  readonly hasEarlier: boolean;
}

/** Returns null where there is no data: a total of nothing is no zero. */
export function totalsOf(
  traffic: { readonly current: DayTraffic; readonly before: DayTraffic },
  deployments: DeploymentCounts,
): Totals {
  const share = ({ requests, errors }: DayTraffic) => (requests ? (errors ?? 0) / requests : null);
  const { current, before, hasEarlier } = deployments;
  return {
    requests: { current: traffic.current.requests, before: traffic.before.requests },
    errorShare: { current: share(traffic.current), before: share(traffic.before) },
    deployments: { current: current > 0 || hasEarlier ? current : null, before: hasEarlier ? before : null },
  };
}

/** Returns the steps that the reader may take, in their order; null if all of them are done. */
export function checklistOf(done: Readonly<Partial<Record<ChecklistStep, boolean>>>): Checklist | null {
  const steps = checklistStepSchema.options.flatMap((step) => {
    const isDone = done[step];
    return isDone === undefined ? [] : [{ step, isDone }];
  });
  return steps.every(({ isDone }) => isDone) ? null : steps;
}
