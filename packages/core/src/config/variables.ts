// Variables of an app by their scope. Pure.
import type { Settings, VariableScope } from './schema.ts';

/** Those that a build, or what runs, is given. */
export function variablesIn(
  { variables }: Pick<Settings, 'variables'>,
  place: Exclude<VariableScope, 'both'>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, { value, scope }]) =>
      scope === 'both' || scope === place ? [[name, value]] : [],
    ),
  );
}
