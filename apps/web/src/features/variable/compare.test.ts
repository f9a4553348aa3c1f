import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import type { PlainVariable, SecretView } from '../../api/types.ts';
import { compareVariables, isCopyable } from './compare.ts';

const updatedAt = new Date('2030-01-01T00:00:00Z');
const plain = (name: string, value: string, scope: PlainVariable['scope'] = 'both'): PlainVariable => ({
  ...{ name, value, scope, updatedAt, authorName: null, pending: null },
});
const secret = (name: string): SecretView => ({
  ...{ id: newId('sec'), name, number: 1, delivery: 'environment', sealed: true, atBuild: false, references: [] },
  ...{ expiresAt: null, updatedAt, authorName: null },
});

test('names are compared, plain variables by value and scope too, and what can be copied is told', () => {
  const from = {
    variables: [plain('SAME', '1'), plain('VALUE', '1'), plain('SCOPE', '1'), plain('FROM', '1'), plain('HIDDEN', '1')],
    secrets: [secret('BOTH'), secret('SHOWN'), secret('FROM_KEY')],
  };
  const to = {
    variables: [plain('SAME', '1'), plain('VALUE', '2'), plain('SCOPE', '1', 'run'), plain('SHOWN', '1')],
    secrets: [secret('BOTH'), secret('HIDDEN'), secret('TO_KEY')],
  };
  const all = compareVariables(from, to);
  expect(Object.fromEntries(all.map((each) => [each.name, `${each.state}, ${isCopyable(each)}`]))).toEqual({
    BOTH: 'secrets, true',
    FROM: 'only from, true',
    FROM_KEY: 'only from, true',
    HIDDEN: 'kinds, false',
    SAME: 'same, false',
    SCOPE: 'changed, true',
    SHOWN: 'kinds, true',
    TO_KEY: 'only to, false',
    VALUE: 'changed, true',
  });
  expect(compareVariables({ ...from, secrets: null }, { variables: [], secrets: null })).toHaveLength(5);
});
