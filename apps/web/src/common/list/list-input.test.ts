import { expect, test } from 'vitest';
import { dayRange } from './day.ts';
import { choiceField, idField, sortInput, textField } from './list-input.ts';

test('values that the API would refuse filter nothing', () => {
  expect(idField('appId', 'app', 'app_0123')).toEqual({ appId: 'app_0123' });
  expect(idField('appId', 'app', 'srv_0123')).toEqual({});
  expect(idField('appId', 'app', "app_' OR 1")).toEqual({});
  expect(choiceField('state', 'failed', ['live', 'failed'])).toEqual({ state: 'failed' });
  expect(choiceField('state', 'toString', ['live', 'failed'])).toEqual({});
  expect(textField('search', '  cart ')).toEqual({ search: 'cart' });
  expect(textField('search', '   ')).toEqual({});
  expect(textField('search', 'a'.repeat(300)).search).toHaveLength(100);
});

test('a sort order has its natural direction or the named one', () => {
  const sorts = ['name', 'p99'] as const;
  expect(sortInput('p99', sorts)).toEqual({ sort: 'p99' });
  expect(sortInput('p99.asc', sorts)).toEqual({ sort: 'p99', order: 'asc' });
  expect(sortInput('p99.up', sorts)).toEqual({ sort: 'p99' });
  expect(sortInput('size', sorts)).toEqual({});
});

test('a range of days includes the last one', () => {
  expect(dayRange('2026-03-01', '2026-03-01', 'UTC')).toEqual({
    from: new Date('2026-03-01T00:00:00Z'),
    to: new Date('2026-03-02T00:00:00Z'),
  });
  expect(dayRange('yesterday', '2026-13-01', 'UTC')).toEqual({});
});

test('days are those of the viewer’s zone, also when its clock changes', () => {
  expect(dayRange('2026-03-01', '2026-03-01', 'Asia/Kolkata')).toEqual({
    from: new Date('2026-02-28T18:30:00Z'),
    to: new Date('2026-03-01T18:30:00Z'),
  });
  expect(dayRange('2026-03-29', '2026-03-29', 'Europe/Berlin')).toEqual({
    from: new Date('2026-03-28T23:00:00Z'),
    to: new Date('2026-03-29T22:00:00Z'),
  });
  expect(dayRange('2026-10-25', '2026-10-25', 'Europe/Berlin')).toEqual({
    from: new Date('2026-10-24T22:00:00Z'),
    to: new Date('2026-10-25T23:00:00Z'),
  });
});
