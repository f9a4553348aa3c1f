import { expect, test } from 'vitest';
import { findEntry, resolve, type SecretNode } from './resolve.ts';

const node = (name: string, references: string[] = [], sizeBytes = 10, scope = ''): SecretNode => ({
  versionId: `${scope}/${name}`,
  name,
  references,
  sizeBytes,
});
const group = (name: string, attached: boolean, ...nodes: [string, string[]?][]) => ({
  name,
  attached,
  secrets: nodes.map(([secret, references]) => node(secret, references, 10, name)),
});

test('an app gets its own secrets, those of its groups, and the secrets that they refer to', () => {
  const { entries, problems } = resolve(
    [node('URL', ['db.HOST', 'PASS']), node('PASS')],
    [
      group('db', true, ['HOST', ['PORT_NUMBER', 'net.ZONE']], ['PORT_NUMBER']),
      group('net', false, ['ZONE'], ['UNUSED']),
    ],
  );
  expect(problems).toEqual([]);
  expect(entries.map(({ scope, name, exported }) => [scope, name, exported])).toEqual([
    ['', 'PASS', true],
    ['', 'URL', true],
    ['db', 'HOST', true],
    ['db', 'PORT_NUMBER', true],
    ['net', 'ZONE', false],
  ]);
  expect(findEntry(entries, 'db.HOST', '')?.versionId).toBe('db/HOST');
  expect(findEntry(entries, 'PORT_NUMBER', 'db')?.versionId).toBe('db/PORT_NUMBER');
  expect(findEntry(entries, 'HOST', '')?.versionId).toBe('db/HOST');
});

test('a secret of the app reaches no group that is not attached', () => {
  const { entries, problems } = resolve([node('URL', ['db.HOST'])], [group('db', false, ['HOST'])]);
  expect(entries.map(({ name }) => name)).toEqual(['URL']);
  expect(problems).toEqual([
    'URL refers to db.HOST, which this app does not have. Add it, attach its group, or correct the reference.',
  ]);
});

test("the app's own name stands before its group's", () => {
  const { entries } = resolve([node('KEY')], [group('a', true, ['KEY']), group('b', true, ['KEY'])]);
  expect(entries).toEqual([{ versionId: '/KEY', scope: '', name: 'KEY', exported: true }]);
});

test('missing names, cycles, two groups of one name and too large values are refused in sentences', () => {
  expect(resolve([node('A', ['B'])], []).problems).toEqual([
    'A refers to B, which this app does not have. Add it, attach its group, or correct the reference.',
  ]);
  expect(resolve([node('A', ['B']), node('B', ['A'])], []).problems[0]).toContain('A → B → A');
  expect(resolve([node('A', ['A'])], []).problems[0]).toContain('A → A');
  expect(resolve([], [group('x', true, ['A', ['A']])]).problems[0]).toContain('x.A → x.A');
  expect(resolve([], [group('x', true, ['A']), group('y', true, ['A'])]).problems[0]).toContain('x and y');
  expect(resolve([node('A', ['B', 'B', 'B']), node('B', [], 30_000)], []).problems[0]).toContain('64 KiB');
  const many = Array.from({ length: 20 }, (_, index) => node(`N${index}`, [], 60_000));
  expect(resolve(many, []).problems[0]).toContain('1 MiB');
});

test('doubling references end in a sentence, not in a full memory', () => {
  const laughs = Array.from({ length: 60 }, (_, index) =>
    node(`L${index}`, index === 0 ? [] : [`L${index - 1}`, `L${index - 1}`]),
  );
  expect(resolve(laughs, []).problems.length).toBeGreaterThan(0);
});
