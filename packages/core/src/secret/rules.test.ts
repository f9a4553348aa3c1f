import { expect, test } from 'vitest';
import { fillIn, nameProblem, parseEnvText, referencesOf, valueBytesMax, valueProblem } from './rules.ts';

const at = (reference: string) => `$\{{ ${reference} }}`;

test('reserved names and invalid names are refused', () => {
  for (const name of ['API_KEY', '_', 'A1', 'X'.repeat(128)]) expect(nameProblem(name), name).toBeNull();
  const refused = ['', 'a', '1A', 'A-B', 'A B', 'Ä', 'X'.repeat(129), 'PORT', 'NODE_ENV', 'PATH', 'LD_PRELOAD'];
  for (const name of [...refused, 'LD_ANYTHING', 'FAIRLEAD_SECRETS', 'NODE_OPTIONS', 'A\n']) {
    expect(nameProblem(name), name).not.toBeNull();
  }
});

test('a value has 64 KiB at most, in bytes, and no NUL', () => {
  expect(valueProblem('x'.repeat(valueBytesMax))).toBeNull();
  expect(valueProblem('é'.repeat(valueBytesMax / 2 + 1))).toContain('64 KiB');
  expect(valueProblem('a\0b')).toContain('NUL');
});

test('references are found each time; a doubled dollar is the text itself', () => {
  const value = `pg://${at('db.USER')}:$\{{PASS}}@h/${at('db.USER')}?x=$${at('NOT')}&y=$\{OTHER}&z=${at('lower')}`;
  expect(referencesOf(value)).toEqual(['db.USER', 'PASS', 'db.USER']);
  expect(fillIn(value, (reference) => `<${reference}>`)).toBe(
    `pg://<db.USER>:<PASS>@h/<db.USER>?x=${at('NOT')}&y=$\{OTHER}&z=${at('lower')}`,
  );
});

test('a substituted value is never read as a pattern or as a reference', () => {
  expect(fillIn(at('A'), () => `$& $1 ${at('B')}`)).toBe(`$& $1 ${at('B')}`);
});

test('a .env with quotes, several lines, export and comments is read as its programs read it', () => {
  const text = [
    '\uFEFF# head',
    'PLAIN=one two   # a comment',
    "export SINGLE = 'raw \\n #x'",
    'DOUBLE="line\\nnext \\"q\\" \\$ \\x"',
    'HASH=pa#ss',
    'EMPTY=',
    'COMMENTED= # nothing',
    'KEY="-----BEGIN-----',
    'abc=',
    '-----END-----" # behind',
    'BACK=`a "b" c`',
    'URL=https://u:p@h/?a=b&c=d',
    'TWICE=1',
    'TWICE=2',
  ].join('\r\n');
  const { entries, problems } = parseEnvText(text);
  expect(problems).toEqual([]);
  expect(Object.fromEntries(entries.map(({ name, value }) => [name, value]))).toEqual({
    PLAIN: 'one two',
    SINGLE: 'raw \\n #x',
    DOUBLE: 'line\nnext "q" $ \\x',
    HASH: 'pa#ss',
    EMPTY: '',
    COMMENTED: '',
    KEY: '-----BEGIN-----\nabc=\n-----END-----',
    BACK: 'a "b" c',
    URL: 'https://u:p@h/?a=b&c=d',
    TWICE: '2',
  });
  expect(entries.find(({ name }) => name === 'BACK')?.line).toBe(11);
});

test('an unreadable line is reported by its number, never with its text', () => {
  const { entries, problems } = parseEnvText('GOOD=1\nhunter2secret\nlower=hunter2\nPORT=1\nA="x" hunter2\nB="hunter2');
  expect(entries.map(({ name }) => name)).toEqual(['GOOD', 'A']);
  expect(problems.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6]);
  expect(JSON.stringify(problems)).not.toContain('hunter2');
});
