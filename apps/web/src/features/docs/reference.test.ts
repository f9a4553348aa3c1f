import { apiDocument } from '@fairlead/api';
import { expect, test } from 'vitest';
import { entriesOf, matching, rowsOf, typeOf } from './reference.ts';

const entries = entriesOf(apiDocument());

test('every call of the document is on the page, with its fields and an example', () => {
  const told = Object.values(apiDocument().paths).flatMap((methods) => Object.values(methods));
  expect(entries).toHaveLength(told.length);
  const create = entries.find(({ id }) => id === 'app.create');
  expect(create).toMatchObject({ method: 'POST', path: '/api/v1/app/create', permission: 'app.write' });
  expect(create?.input).toContainEqual({ name: 'name', type: 'string', required: true });
  expect(create?.input).toContainEqual({ name: 'environmentId', type: 'string', required: false });
  // One of several objects shows the fields of all.
  const kinds = '"git" or "github" or "image" or "upload" or "template"';
  expect(create?.input).toContainEqual({ name: 'source.kind', type: kinds, required: true });
  expect(create?.input).toContainEqual({ name: 'source.repositoryUrl', type: 'string', required: false });
  expect(create?.example).toContain('"name": "…"');
  const get = entries.find(({ id }) => id === 'app.get');
  expect(get?.example).toContain('/api/v1/app/get?slug=…');
  expect(get?.output.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['liveRelease.commitHash', 'domains[].host']),
  );
});

test('a search finds calls by path, permission and field', () => {
  const ids = (search: string) => matching(entries, search).map(({ id }) => id);
  expect(ids('deployment/rollback')).toEqual(['deployment.rollback']);
  // The path of one call, and the permission of another.
  expect(ids('server.delete')).toEqual(['server.uninstall', 'server.delete']);
  expect(ids('post app repositoryurl')).toContain('app.create');
  expect(ids('')).toHaveLength(entries.length);
  expect(ids('nothing like it')).toEqual([]);
});

test('types are described in words', () => {
  expect(typeOf({ anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] })).toBe('date and time or null');
  expect(typeOf({ type: 'array', items: { enum: ['a', 'b'] } })).toBe('list of "a" | "b"');
  expect(typeOf({})).toBe('any');
  expect(
    rowsOf({ properties: { a: { anyOf: [{ type: 'null' }, { properties: { b: { type: 'integer' } } }] } } }),
  ).toEqual([
    { name: 'a', type: 'null or any', required: false },
    { name: 'a.b', type: 'whole number', required: false },
  ]);
});
