import { auditActions } from '@fairlead/contract/audit-actions';
import { expect, test } from 'vitest';
import { exportHref, FEATURES, readFilter, toInput } from './filter.ts';

const values = (given: Record<string, string>) => readFilter((name) => given[name] ?? '');

test('the last day is inclusive, and impossible filter values are dropped', () => {
  expect(toInput(values({ from: '2026-03-01', to: '2026-03-02', actor: 'token', action: 'app' }), 'UTC')).toEqual({
    action: 'app',
    actorKind: 'token',
    from: new Date('2026-03-01T00:00:00Z'),
    to: new Date('2026-03-03T00:00:00Z'),
  });
  expect(toInput(values({ actor: 'usr_0123' }), 'UTC')).toEqual({ actorId: 'usr_0123' });
  expect(toInput(values({ from: 'soon', to: '2026-99-99', actor: 'king' }), 'UTC')).toEqual({});
});

test('the export uses the filters of the page', () => {
  const href = exportHref('acme', 'csv', toInput(values({ search: 'a&b', from: '2026-03-01' }), 'Asia/Kolkata'));
  const query = new URL(href, 'https://x.test').searchParams;
  expect(Object.fromEntries(query)).toEqual({
    organization: 'acme',
    format: 'csv',
    search: 'a&b',
    from: '2026-02-28T18:30:00.000Z',
  });
});

test('the filter offers the feature of every action, and no other', () => {
  const features = new Set(Object.keys(auditActions).map((action) => action.split('.')[0]));
  expect(FEATURES.map(([feature]) => feature).sort()).toEqual([...features].sort());
});
