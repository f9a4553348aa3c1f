// Compares two versions of settings. Pure. Variables, and the parts of traffic, are compared one by one by name.
import { commandLine } from '../kernel/command.ts';
import type { Difference, Settings, Variable } from './schema.ts';

export function diffSettings(before: Settings, after: Settings): Difference[] {
  const { variables: variablesBefore, traffic: trafficBefore, ...plainBefore } = before;
  const { variables: variablesAfter, traffic: trafficAfter, ...plainAfter } = after;
  const within = (whole: string, parts: Difference[]) =>
    parts.map((each) => ({ ...each, name: `${whole}.${each.name}` }));
  return [
    ...diffRecords(plainBefore, plainAfter),
    ...within('traffic', diffRecords(trafficBefore, trafficAfter)),
    ...within(
      'variables',
      diffRecords(mapValues(variablesBefore, textOfVariable), mapValues(variablesAfter, textOfVariable)),
    ),
  ];
}

function mapValues(all: Settings['variables'], text: (variable: Variable) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(all).map(([name, variable]) => [name, text(variable)]));
}

function textOfVariable({ value, scope }: Variable): string {
  return scope === 'both' ? value : `${value} (${scope} only)`;
}

function diffRecords(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const sides = { before: textOf(before[name], name), after: textOf(after[name], name) };
    return sides.before === sides.after ? [] : [{ name, ...sides }];
  });
}

/** Null for what is not there. Keys in one order, so that equal values are equal texts. */
function textOf(value: unknown, name: string): string | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && name.endsWith('Command')) return commandLine(value.map(String)) || null;
  if (typeof value === 'string') return value;
  return JSON.stringify(value, (key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null) return inner;
    if (Array.isArray(inner)) return key === 'command' ? commandLine(inner.map(String)) : inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
