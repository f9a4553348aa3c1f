// Draft of the settings while they are edited: the changes to save, and the binding of fields. Pure.

import type { Settings, SettingsChange } from '../../api/types.ts';
import { changedFields } from '../../common/form/changed-fields.ts';

/** Draft and setter for the sections of the form. */
export interface Draft {
  readonly settings: Settings;
  readonly set: <Name extends keyof Settings>(name: Name, value: Settings[Name]) => void;
  /** Returns the API's error for a field by its path below `settings`. */
  readonly problem: (path: string) => string | undefined;
}

/** Returns only changed fields: another member may have saved another field meanwhile. */
export function changesOf(before: Settings, after: Settings): SettingsChange {
  return Object.fromEntries(changedFields(before, after).map((name) => [name, after[name]]));
}

export interface BoundField<Value> {
  readonly value: Value;
  readonly error: string | undefined;
  readonly onValue: (value: Value) => void;
}

/** Binds a field to a setting by name. */
export function bindSettings({ settings, set, problem }: Draft) {
  return <Name extends keyof Draft['settings']>(name: Name): BoundField<Draft['settings'][Name]> => ({
    value: settings[name],
    error: problem(name),
    onValue: (value) => set(name, value),
  });
}

/** Binds a field to a part of a setting; errors are shown once, at the whole setting. */
export function bindParts<Whole extends object>(whole: Whole, change: (whole: Whole) => void) {
  return <Name extends keyof Whole>(name: Name): BoundField<Whole[Name]> => ({
    value: whole[name],
    error: undefined,
    onValue: (value) => change({ ...whole, [name]: value }),
  });
}
