// Owns what differs between two versions of settings. Pure. Variables, and the parts of traffic, are compared one by one by
// their names.
import type { Difference, Settings } from './schema.ts';

export function diffSettings(before: Settings, after: Settings): Difference[] {
  const { variables: variablesBefore, traffic: trafficBefore, ...plainBefore } = before;
  const { variables: variablesAfter, traffic: trafficAfter, ...plainAfter } = after;
  const within = (whole: string, parts: Difference[]) =>
    parts.map((each) => ({ ...each, name: `${whole}.${each.name}` }));
  return [
    ...diffRecords(plainBefore, plainAfter),
    ...within('traffic', diffRecords(trafficBefore, trafficAfter)),
    ...within('variables', diffRecords(variablesBefore, variablesAfter)),
  ];
}

function diffRecords(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const sides = { before: textOf(before[name]), after: textOf(after[name]) };
    return sides.before === sides.after ? [] : [{ name, ...sides }];
  });
}

/** Null for what is not there. Keys in one order, so that equal values are equal texts. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
