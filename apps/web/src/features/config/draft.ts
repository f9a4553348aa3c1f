// Settings while somebody changes them, and what of them is to be saved. Pure.
import type { Settings, SettingsChange } from '../../api/types.ts';

/** What every part of the form gets: the settings as they would be saved, and a way to change one. */
export interface Draft {
  readonly settings: Settings;
  readonly set: <Name extends keyof Settings>(name: Name, value: Settings[Name]) => void;
  /** The API's sentence for a field, by its path below `settings`. */
  readonly problem: (path: string) => string | undefined;
}

/** Only what differs: somebody else may have saved another field meanwhile. */
export function changesOf(before: Settings, after: Settings): SettingsChange {
  const names = Object.keys(after) as (keyof Settings)[];
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .map((name) => [name, after[name]]),
  );
}
