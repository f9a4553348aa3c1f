// Changes of a draft as lines that a person reads: the field, its saved value, the new value, and when it takes effect.
// Pure.
import { commandLine } from '@fairlead/core/kernel/command';
import type { Formats } from '@fairlead/ui/formats';
import type { Settings } from '../../api/types.ts';
import { namedSetting, type SettingEffect } from '../../common/app/setting-fields.ts';
import { changedFields } from '../../common/form/changed-fields.ts';
import type { AppFields } from './draft.ts';

export interface ChangeLine {
  readonly path: string;
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly effect: SettingEffect;
}

export interface SettingsValues {
  readonly settings: Settings;
  readonly app: AppFields;
}

export function changeLines(saved: SettingsValues, draft: SettingsValues, formats: Formats): ChangeLine[] {
  return [
    ...linesWithin('app', saved.app, draft.app, formats),
    ...settingsLines(saved.settings, draft.settings, formats),
  ];
}

/** Compares two versions of the settings. */
export function settingsLines(before: Settings, after: Settings, formats: Formats): ChangeLine[] {
  return changedFields(before, after).flatMap((name) => {
    if (name === 'traffic') return linesWithin(name, before.traffic, after.traffic, formats);
    if (name !== 'variables') return [lineOf(name, before[name], after[name], formats)];
    // A removed variable is missing in the draft.
    const removed = Object.fromEntries(Object.keys(before.variables).map((each) => [each, undefined]));
    return linesWithin<Record<string, unknown>>(name, before.variables, { ...removed, ...after.variables }, formats);
  });
}

/** Returns lines from the live to the saved value; none if nothing is live. */
export function notLiveLines(live: Settings | null, saved: Settings, formats: Formats): ChangeLine[] {
  return live === null ? [] : settingsLines(live, saved, formats);
}

function linesWithin<Whole extends object>(root: string, before: Whole, after: Whole, formats: Formats): ChangeLine[] {
  return changedFields(before, after).map((name) =>
    lineOf(`${root}.${String(name)}`, before[name], after[name], formats),
  );
}

function lineOf(path: string, before: unknown, after: unknown, formats: Formats): ChangeLine {
  return { path, ...namedSetting(path), before: textOf(before, path, formats), after: textOf(after, path, formats) };
}

/** Says in one sentence when changes take effect. */
export function effectText(effects: readonly SettingEffect[]): string {
  if (effects.every((effect) => effect === 'now')) return 'Servers apply it now.';
  return effects.some((effect) => effect === 'now')
    ? 'Some of it applies now, the rest with the next deployment.'
    : 'Takes effect with the next deployment.';
}

function textOf(value: unknown, path: string, formats: Formats): string {
  if (value === undefined) return 'None';
  if (value === null || value === '') return 'Default';
  if (typeof value === 'boolean') return value ? 'On' : 'Off';
  if (typeof value === 'number') return textOfNumber(value, path, formats);
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    if (value.length === 0) return /command/i.test(path) ? 'Default' : 'None';
    if (/command$/i.test(path)) return commandLine(value.map(String));
    return value.map((each) => textOfItem(each, formats)).join(', ');
  }
  return textOfItem(value, formats);
}

function textOfNumber(value: number, path: string, { formatBytes, formatCpu, formatDuration }: Formats): string {
  if (path.endsWith('Ms')) return formatDuration(value);
  if (value === 0 && !path.startsWith('app.')) return '0';
  if (/Bytes/.test(path)) return formatBytes(value);
  return /cpuMillis/.test(path) ? formatCpu(value, 0) : String(value);
}

/** A worker and a volume are named; other objects list their parts. */
function textOfItem(value: unknown, formats: Formats): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const parts = Object.entries(value);
  const name = parts.find(([key]) => key === 'name')?.[1];
  if (typeof name === 'string') return name || 'unnamed';
  return parts
    .map(([key, part]) => (key === 'kind' ? wordsOf(part) : `${wordsOf(key)} ${textOf(part, key, formats)}`))
    .join(', ');
}

/** Returns `idleTimeoutMs` as “idle timeout”: the value has its unit. */
function wordsOf(name: unknown): string {
  return String(name)
    .replace(/(Ms|Bytes|Millis)(?=Max$|Target$|$)/, '')
    .replaceAll('_', ' ')
    .replace(/([A-Z])/g, ' $1')
    .toLowerCase();
}
