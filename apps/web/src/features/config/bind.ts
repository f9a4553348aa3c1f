// Ties a field of the form to one value among others: what it shows, what was refused of it, and where a change goes. Pure.
import type { Draft } from './draft.ts';

export interface Bound<Value> {
  readonly value: Value;
  readonly error: string | undefined;
  readonly onValue: (value: Value) => void;
}

/** To a setting by its name. */
export function settingsOf({ settings, set, problem }: Draft) {
  return <Name extends keyof Draft['settings']>(name: Name): Bound<Draft['settings'][Name]> => ({
    value: settings[name],
    error: problem(name),
    onValue: (value) => set(name, value),
  });
}

/** To a part of a setting; what is refused of it is told once, where the whole is chosen. */
export function partsOf<Whole extends object>(whole: Whole, change: (whole: Whole) => void) {
  return <Name extends keyof Whole>(name: Name): Bound<Whole[Name]> => ({
    value: whole[name],
    error: undefined,
    onValue: (value) => change({ ...whole, [name]: value }),
  });
}
