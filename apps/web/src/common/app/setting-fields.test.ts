import { settingsSchema } from '@fairlead/core/config/schema';
import { expect, test } from 'vitest';
import { fieldAnchor, namedSetting, searchFields, settingFields } from './setting-fields.ts';

test('a search finds fields by label, then by other words', () => {
  expect(searchFields('start').map(({ label }) => label)).toEqual([
    'Start command',
    'Start timeout',
    'Default start command',
    'Slow start',
    'Wake timeout',
    'Liveness check',
  ]);
  expect(searchFields('replicas').map(({ label }) => label)).toEqual(['Instances', 'Autoscaling']);
  expect(searchFields('  ')).toEqual([]);
});

test('each setting has a field, by which its changes are named', () => {
  const names = Object.keys(settingsSchema.shape).filter((name) => name !== 'traffic');
  const traffic = Object.keys(settingsSchema.parse({}).traffic).map((name) => `traffic.${name}`);
  const known = new Set(['variables', 'volumes', ...settingFields.map(({ path }) => path)]);
  expect([...names, ...traffic].filter((path) => !known.has(path))).toEqual([]);
});

test('a setting is named by its field, a variable by itself', () => {
  expect(namedSetting('startTimeoutMs')).toEqual({ label: 'Start timeout', effect: 'deployment' });
  expect(namedSetting('traffic.stickySessions')).toEqual({ label: 'Sticky sessions', effect: 'now' });
  expect(namedSetting('variables.LOG_LEVEL')).toEqual({ label: 'LOG_LEVEL', effect: 'deployment' });
  expect(namedSetting('someNewLimit')).toEqual({ label: 'Some new limit', effect: 'deployment' });
});

test('a field whose label depends on another one names a field that is always there', () => {
  const labels = new Set(settingFields.filter(({ within }) => within === undefined).map(({ label }) => label));
  expect(settingFields.flatMap(({ within }) => within ?? []).filter((label) => !labels.has(label))).toEqual([]);
});

test('an anchor is a word of a URL', () => {
  expect(fieldAnchor('In-flight per app')).toBe('in-flight-per-app');
  expect(fieldAnchor('Source & build')).toBe('source-build');
});
