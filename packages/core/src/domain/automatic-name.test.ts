import { expect, test } from 'vitest';
import { automaticLabel } from './automatic-name.ts';

const placement = { id: 'plc_1', appSlug: 'shop', environmentSlug: 'staging' };
const free = () => false;

test('a name says the app and the environment', () => {
  expect(automaticLabel(placement, free)).toBe('shop-staging');
});

test('a taken name gets digits that stay the same', () => {
  const label = automaticLabel(placement, (each) => each === 'shop-staging');
  expect(label).toMatch(/^shop-staging-[0-9a-f]{8}$/);
  expect(automaticLabel(placement, (each) => each === 'shop-staging')).toBe(label);
  expect(automaticLabel({ ...placement, id: 'plc_2' }, (each) => each === 'shop-staging')).not.toBe(label);
});

test('a label has at most 63 characters, and no dash at the cut', () => {
  const appSlug = `${'a'.repeat(53)}-${'b'.repeat(9)}`;
  const label = automaticLabel({ ...placement, appSlug }, free);
  expect(label).toMatch(/^a{53}-[0-9a-f]{8}$/);
});
