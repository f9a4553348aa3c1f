import { settingsSchema } from '@fairlead/core/config/schema';
import { expect, test } from 'vitest';
import { appChangesOf, changesOf } from './draft.ts';

const settings = settingsSchema.parse({});

test('only changed settings are saved', () => {
  expect(changesOf(settings, { ...settings })).toEqual({});
  expect(changesOf(settings, { ...settings, image: 'shop:2', autoscaling: null })).toEqual({ image: 'shop:2' });
  expect(changesOf({ ...settings, readinessCheck: { kind: 'tcp' } }, settings)).toEqual({ readinessCheck: null });
});

test('only changed fields of the app are saved, and instances have their own call', () => {
  const app = { name: 'a', repositoryUrl: '', branch: '', rootFolder: '', healthPath: '', command: [], instances: 1 };
  expect(appChangesOf(app, { ...app, command: ['node', 'a.js'], instances: 2 })).toEqual({ command: ['node', 'a.js'] });
});
