// Changes of a plan for the audit log. Invariant: they never hold the text of a query, the value of a header or a body.
import { isDeepStrictEqual } from 'node:util';
import type { AuditFields } from '../audit/index.ts';
import { type BenchmarkPlan, benchmarkPlanSchema, redactPlan } from '../benchmark/index.ts';

/**
 * Returns the changed fields of a stored plan. For hidden values, it returns only the kinds that changed. The order of keys
 * doesn't count, because PostgreSQL changes it in a stored object.
 */
export function changedPlanFields(stored: unknown, plan: BenchmarkPlan): { before: AuditFields; after: AuditFields } {
  const old = benchmarkPlanSchema.parse(stored);
  const [oldShown, shown] = [redactPlan(old), redactPlan(plan)];
  const [oldHidden, hidden] = [hiddenValues(old), hiddenValues(plan)];
  const kinds = Object.keys(hidden).filter((kind) => !isDeepStrictEqual(oldHidden[kind], hidden[kind]));
  const isShown = !isDeepStrictEqual(oldShown, shown);
  return {
    before: isShown ? { plan: JSON.stringify(oldShown) } : {},
    after: {
      ...(isShown ? { plan: JSON.stringify(shown) } : {}),
      ...(kinds.length === 0 ? {} : { changedValues: kinds }),
    },
  };
}

/** Returns the values that `redactPlan` hides, by kind. A fragment counts as a query. */
function hiddenValues({ path, load: { requests } }: BenchmarkPlan): Record<string, unknown[]> {
  const paths = [path, ...requests.map((request) => request.path)];
  return {
    query: paths.flatMap((each) => {
      const at = each.search(/[?#]/);
      return at === -1 ? [] : each.slice(at);
    }),
    headers: requests.map(({ headers }) => headers).filter((headers) => Object.keys(headers).length > 0),
    body: requests.flatMap(({ body }) => (body === '' ? [] : body)),
  };
}
