import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import type { AppSecrets, PlainVariable, SecretView } from '../../api/types.ts';
import { filterRows, pendingChanges, rowsOf } from './rows.ts';

const updatedAt = new Date('2030-01-01T00:00:00Z');
const plain = (name: string, more: Partial<PlainVariable> = {}): PlainVariable => ({
  name,
  value: 'value',
  scope: 'both',
  updatedAt,
  authorName: null,
  pending: null,
  ...more,
});
const secret = (name: string): SecretView => ({
  id: newId('sec'),
  name,
  number: 1,
  delivery: 'environment',
  sealed: true,
  atBuild: false,
  references: [],
  expiresAt: null,
  updatedAt,
  authorName: null,
});
const listOf = (variables: PlainVariable[], removed: string[] = []) => ({ variables, removed, liveDeploymentId: null });
const secretsOf = (more: Partial<AppSecrets>): AppSecrets => ({
  secrets: [],
  groups: [],
  changes: null,
  problems: [],
  expectedVariables: [],
  missingNames: [],
  liveSnapshotId: null,
  ...more,
});
const groupOf = (name: string, attached: boolean, ...names: string[]) => ({
  id: newId('scg'),
  name,
  attached,
  secrets: names.map(secret),
});

test('plain variables, secrets and those of attached groups are one list by name', () => {
  const groups = [groupOf('database', true, 'DATABASE_URL', 'TOKEN'), groupOf('other', false, 'UNUSED')];
  const rows = rowsOf(
    listOf([plain('LOG_LEVEL'), plain('TOKEN')]),
    secretsOf({ secrets: [secret('TOKEN'), secret('API_KEY')], groups }),
  );
  expect(rows.map(({ name, kind, overridden }) => [name, kind, overridden])).toEqual([
    ['API_KEY', 'secret', false],
    ['DATABASE_URL', 'secret', false],
    ['LOG_LEVEL', 'plain', false],
    ['TOKEN', 'secret', false],
    ['TOKEN', 'plain', true],
    ['TOKEN', 'secret', true],
  ]);
  expect(rowsOf(listOf([plain('A')]), null).map(({ name }) => name)).toEqual(['A']);
});

test('rows are found by name, plain value and group', () => {
  const rows = rowsOf(
    listOf([plain('LOG_LEVEL', { value: 'Debug' })]),
    secretsOf({ secrets: [secret('API_KEY')], groups: [groupOf('database', true, 'URL')] }),
  );
  const found = (text: string) => filterRows(rows, text).map(({ name }) => name);
  expect(found('log')).toEqual(['LOG_LEVEL']);
  expect(found(' debug ')).toEqual(['LOG_LEVEL']);
  expect(found('DATA')).toEqual(['URL']);
  expect(found('')).toHaveLength(3);
  expect(found('nothing')).toEqual([]);
});

test('a variable that became a secret is one pending change, and needs a build', () => {
  const list = listOf([plain('NEW', { pending: 'added' }), plain('KEPT')], ['TOKEN', 'GONE']);
  const changes: AppSecrets['changes'] = [
    { name: 'TOKEN', kind: 'added' },
    { name: 'database.URL', kind: 'removed' },
  ];
  expect(pendingChanges(list, secretsOf({ changes }))).toEqual({
    changes: [
      { name: 'GONE', kind: 'removed' },
      { name: 'NEW', kind: 'added' },
      { name: 'TOKEN', kind: 'changed' },
      { name: 'database.URL', kind: 'removed' },
    ],
    secretsOnly: false,
  });
  expect(pendingChanges(listOf([plain('KEPT')]), secretsOf({ changes })).secretsOnly).toBe(true);
});
