import { settingsSchema } from '@fairlead/core/config/schema';
import { expect, test } from 'vitest';
import { changesOf } from './draft.ts';

const settings = settingsSchema.parse({});

test('only changed settings are saved', () => {
  expect(changesOf(settings, { ...settings })).toEqual({});
  expect(changesOf(settings, { ...settings, image: 'shop:2', autoscaling: null })).toEqual({ image: 'shop:2' });
  expect(changesOf({ ...settings, readinessCheck: { kind: 'tcp' } }, settings)).toEqual({ readinessCheck: null });
});
