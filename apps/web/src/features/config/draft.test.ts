import { settingsSchema } from '@fairlead/core/config/schema';
import { expect, test } from 'vitest';
import { changesOf, problemOf } from './draft.ts';

const settings = settingsSchema.parse({});

test('only what differs is saved', () => {
  expect(changesOf(settings, { ...settings })).toEqual({});
  expect(changesOf(settings, { ...settings, image: 'shop:2', scale: null })).toEqual({ image: 'shop:2' });
  expect(changesOf({ ...settings, health: { kind: 'tcp' } }, settings)).toEqual({ health: null });
});

test('a part that was refused marks its field', () => {
  const fields = { 'settings.workers.0.name': 'no', 'settings.image': 'bad' };
  expect(problemOf(fields, 'workers')).toBe('no');
  expect(problemOf(fields, 'image')).toBe('bad');
  expect(problemOf(fields, 'work')).toBeUndefined();
});
