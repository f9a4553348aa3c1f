import { expect, test } from 'vitest';
import { readEnvLines, summaryOf } from './env-lines.ts';

const known = {
  plain: new Map([
    ['SAME', '1'],
    ['OTHER', '1'],
    ['TOKEN', 'x'],
  ]),
  secrets: new Set(['HIDDEN']),
};

test('each line has a kind by its name and value, and the effect of saving it', () => {
  const text = ['SAME=1', 'OTHER=2', 'TOKEN=x', 'HIDDEN=1', 'NODE_ENV=test', 'api_key=1', 'CACHE=redis://:p@h'].join(
    '\n',
  );
  const { variables, problems } = readEnvLines(text, known, new Map());
  expect(problems).toEqual([]);
  expect(variables.map(({ name, kind, effect, held }) => [name, kind, effect, held])).toEqual([
    ['SAME', 'plain', 'unchanged', false],
    ['OTHER', 'plain', 'changed', false],
    ['TOKEN', 'secret', 'becomes secret', false],
    ['HIDDEN', 'secret', 'replaced', true],
    ['NODE_ENV', 'plain', 'new', false],
    ['api_key', 'plain', 'new', false],
    ['CACHE', 'secret', 'new', false],
  ]);
});

test('a chosen kind counts, except for the name of a secret; a name that it does not allow is a problem', () => {
  const chosen = new Map([
    ['API_KEY', 'plain'],
    ['HIDDEN', 'plain'],
    ['NODE_ENV', 'secret'],
  ] as const);
  const { variables } = readEnvLines('API_KEY=1\nHIDDEN=1\nNODE_ENV=test', known, chosen);
  expect(variables.map(({ kind }) => kind)).toEqual(['plain', 'secret', 'secret']);
  expect(variables.map(({ problem }) => problem === null)).toEqual([true, true, false]);
  const long = readEnvLines(`A=${'x'.repeat(20_000)}`, known, new Map()).variables[0];
  expect(long?.problem).toContain('16,384');
});

test('a line that is no variable is reported by its number', () => {
  const { variables, problems } = readEnvLines('nothing\nPORT=1\nA=1', known, new Map());
  expect(problems.map(({ line }) => line)).toEqual([1, 2]);
  expect(variables.map(({ name }) => name)).toEqual(['A']);
});

test('a summary counts what is not zero', () => {
  expect(summaryOf({ added: ['A', 'B'], changed: [], unchanged: ['C'] })).toBe('2 added, 1 unchanged');
  expect(summaryOf({ added: [], changed: [], unchanged: [] })).toBe('Nothing changed');
});
