// Draft of the settings while they are edited, and the changes to save. Pure.
import type { Settings, SettingsChange } from '../../api/types.ts';

/** Draft and setter for the sections of the form. */
export interface Draft {
  readonly settings: Settings;
  readonly set: <Name extends keyof Settings>(name: Name, value: Settings[Name]) => void;
  /** Returns the API's error for a field by its path below `settings`. */
  readonly problem: (path: string) => string | undefined;
}

/** Returns only changed fields: another member may have saved another field meanwhile. */
export function changesOf(before: Settings, after: Settings): SettingsChange {
  const names = Object.keys(after) as (keyof Settings)[];
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .map((name) => [name, after[name]]),
  );
}
