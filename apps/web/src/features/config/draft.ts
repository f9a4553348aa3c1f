// Draft of an app's settings while they are edited: the changes to save, and the binding of fields. Pure.

import type { AppDetail, Config, Settings, SettingsChange } from '../../api/types.ts';
import { changedFields } from '../../common/form/changed-fields.ts';

/** Fields of the app itself. All but `branch` and `instances` are the same in each environment. */
export interface AppFields {
  readonly name: string;
  readonly repositoryUrl: string;
  readonly branch: string;
  readonly rootFolder: string;
  readonly healthPath: string;
  readonly command: readonly string[];
  readonly instances: number;
}

/** Draft and setters for the sections of the form. */
export interface Draft {
  readonly settings: Settings;
  readonly set: <Name extends keyof Settings>(name: Name, value: Settings[Name]) => void;
  /** Returns the API's error for a field by its path below `settings`. */
  readonly problem: (path: string) => string | undefined;
  readonly app: AppFields;
  readonly setApp: <Name extends keyof AppFields>(name: Name, value: AppFields[Name]) => void;
  readonly appProblem: (name: keyof AppFields) => string | undefined;
}

export function appFieldsOf(app: AppDetail, config: Config): AppFields {
  const { name, repositoryUrl, rootFolder, healthPath, command } = app;
  return { name, repositoryUrl, branch: config.branch, rootFolder, healthPath, command, instances: config.instances };
}

/** Returns only changed fields: another member may have saved another field meanwhile. */
export function changesOf(before: Settings, after: Settings): SettingsChange {
  return Object.fromEntries(changedFields(before, after).map((name) => [name, after[name]]));
}

/** Returns the changed fields of the app for its update; instances have a call of their own. */
export function appChangesOf(before: AppFields, after: AppFields) {
  const { name, repositoryUrl, branch, rootFolder, healthPath, command } = after;
  const all = { name, repositoryUrl, branch, rootFolder, healthPath, command: [...command] };
  const changed = new Set<string>(changedFields(before, after));
  return Object.fromEntries(Object.entries(all).filter(([field]) => changed.has(field))) as Partial<typeof all>;
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

/** Binds a field to a field of the app by name. */
export function bindApp({ app, setApp, appProblem }: Draft) {
  return <Name extends keyof AppFields>(name: Name): BoundField<AppFields[Name]> => ({
    value: app[name],
    error: appProblem(name),
    onValue: (value) => setApp(name, value),
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
