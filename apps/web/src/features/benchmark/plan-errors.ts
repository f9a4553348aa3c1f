// Errors of a plan's form by field of the API's input. Pure.
import { planFaults } from '@fairlead/core/benchmark/plan';
import type { BenchmarkPlan } from '@fairlead/core/benchmark/schema';

export type FieldErrors = Readonly<Record<string, string>>;

/** Values of the form that the API may refuse. */
export interface PlanInput {
  readonly plan: BenchmarkPlan;
  readonly loadServerIds: readonly string[];
  readonly appId?: string;
  readonly name?: string;
}

/** Returns the errors of a refused input whose values are still the same. */
export function standingErrors(errors: FieldErrors, refused: PlanInput, now: PlanInput): FieldErrors {
  return Object.fromEntries(
    Object.entries(errors).filter(([path]) => JSON.stringify(at(refused, path)) === JSON.stringify(at(now, path))),
  );
}

/** Returns the value of a field, or of the part of a plan that a path leads into. */
function at(input: PlanInput, path: string): unknown {
  const [name = '', part = ''] = path.split('.');
  const value: unknown = Reflect.get(input, name);
  return name === 'plan' ? Reflect.get(input.plan, part) : value;
}

/** Returns the errors of combinations, as the API would. */
export function combinationErrors(plan: BenchmarkPlan): FieldErrors {
  return Object.fromEntries(
    planFaults(plan)
      .toReversed()
      .map(({ field, message }) => [`plan.${field}`, message]),
  );
}

/** Finds the error of a field or of an item of it, below `prefix` in the API's input. */
export function errorsBelow(fields: FieldErrors, prefix: string) {
  return (field: string): string | undefined => {
    const path = `${prefix}.${field}`;
    return fields[path] ?? Object.entries(fields).find(([name]) => name.startsWith(`${path}.`))?.[1];
  };
}
