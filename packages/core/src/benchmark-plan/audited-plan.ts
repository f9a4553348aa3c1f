// Changes of a plan for the audit log. Invariant: never the text of a query, the value of a header or a body.
import { type AuditFields, changedFields } from '../audit/index.ts';
import { type BenchmarkPlan, benchmarkPlanSchema, redactPlan } from '../benchmark/index.ts';

/** Returns the changed fields of a stored plan. Of values that are never shown, it names the kinds that changed. */
export function changedPlanFields(stored: unknown, plan: BenchmarkPlan): { before: AuditFields; after: AuditFields } {
  const before = benchmarkPlanSchema.parse(stored);
  const changes = changedFields({ plan: auditedPlan(before) }, { plan: auditedPlan(plan) });
  const [old, next] = [hiddenValues(before), hiddenValues(plan)];
  const kinds = Object.keys(next).filter((kind) => JSON.stringify(old[kind]) !== JSON.stringify(next[kind]));
  return kinds.length === 0 ? changes : { ...changes, after: { ...changes.after, changedValues: kinds } };
}

function auditedPlan(plan: BenchmarkPlan): string {
  return JSON.stringify(redactPlan(plan));
}

/** Returns the values that `redactPlan` hides, by kind. */
function hiddenValues({ path, load: { requests } }: BenchmarkPlan): Record<string, string[]> {
  const paths = [path, ...requests.map((request) => request.path)];
  return {
    query: paths.flatMap((each) => (each.includes('?') ? each.slice(each.indexOf('?')) : [])),
    headers: requests.flatMap(({ headers }) => Object.values(headers)),
    body: requests.flatMap(({ body }) => (body === '' ? [] : body)),
  };
}
