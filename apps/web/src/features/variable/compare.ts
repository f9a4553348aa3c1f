// Differences between the variables of an app in two environments. Pure. Secrets are compared by name only.
import type { AppSecrets, PlainVariable, VariableList } from '../../api/types.ts';
import type { Kind } from './env-lines.ts';

export interface EnvironmentVariables {
  readonly variables: VariableList['variables'];
  /** Null for a reader who may not list secrets there. */
  readonly secrets: AppSecrets['secrets'] | null;
}

export interface Side {
  readonly kind: Kind;
  /** Null for a secret. */
  readonly variable: Pick<PlainVariable, 'value' | 'scope'> | null;
}

export interface VariableDifference {
  readonly name: string;
  readonly from: Side | null;
  readonly to: Side | null;
  readonly state: DifferenceState;
}

export type DifferenceState =
  | 'only from'
  | 'only to'
  | 'changed'
  | 'same'
  /** Secrets on both sides, whose values can't be compared. */
  | 'secrets'
  /** Plain on one side, secret on the other. */
  | 'kinds';

export function compareVariables(from: EnvironmentVariables, to: EnvironmentVariables): VariableDifference[] {
  const [before, after] = [sidesOf(from), sidesOf(to)];
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names.map((name) => {
    const [left, right] = [before.get(name) ?? null, after.get(name) ?? null];
    return { name, from: left, to: right, state: stateOf(left, right) };
  });
}

function sidesOf({ variables, secrets }: EnvironmentVariables): Map<string, Side> {
  return new Map<string, Side>([
    ...variables.map((variable) => [variable.name, { kind: 'plain', variable }] as const),
    ...(secrets ?? []).map(({ name }) => [name, { kind: 'secret', variable: null }] as const),
  ]);
}

function stateOf(from: Side | null, to: Side | null): DifferenceState {
  if (from === null || to === null) return from === null ? 'only to' : 'only from';
  if (from.kind !== to.kind) return 'kinds';
  if (from.variable === null || to.variable === null) return 'secrets';
  const isSame = from.variable.value === to.variable.value && from.variable.scope === to.variable.scope;
  return isSame ? 'same' : 'changed';
}

/** A plain variable never replaces a secret, and what is the same needs no copy. */
export function isCopyable({ from, to, state }: VariableDifference): boolean {
  return from !== null && state !== 'same' && !(from.kind === 'plain' && to?.kind === 'secret');
}
