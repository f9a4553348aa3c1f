// Binds form fields to a draft: value, error and change handler. Pure.
import type { Draft } from './draft.ts';

export interface Bound<Value> {
  readonly value: Value;
  readonly error: string | undefined;
  readonly onValue: (value: Value) => void;
}

/** Binds a field to a setting by name. */
export function settingsOf({ settings, set, problem }: Draft) {
  return <Name extends keyof Draft['settings']>(name: Name): Bound<Draft['settings'][Name]> => ({
    value: settings[name],
    error: problem(name),
    onValue: (value) => set(name, value),
  });
}

/** Binds a field to a part of a setting; errors are shown once, at the whole setting. */
export function partsOf<Whole extends object>(whole: Whole, change: (whole: Whole) => void) {
  return <Name extends keyof Whole>(name: Name): Bound<Whole[Name]> => ({
    value: whole[name],
    error: undefined,
    onValue: (value) => change({ ...whole, [name]: value }),
  });
}
