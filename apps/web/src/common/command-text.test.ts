import { expect, test } from 'vitest';
import { joinCommand, splitCommand } from './command-text.ts';

test.each([
  ['node server.js', ['node', 'server.js']],
  ['  node   "my server.js" --name=\'a b\'', ['node', 'my server.js', "--name='a", "b'"]],
  ['echo \'it is\' "a \\"quote\\""', ['echo', 'it is', 'a "quote"']],
  ['', []],
])('%s is cut into words', (text, words) => expect(splitCommand(text)).toEqual(words));

test('a command survives being shown and read again', () => {
  const words = ['node', 'my server.js', 'say "hi"', 'C:\\x'];
  expect(splitCommand(joinCommand(words))).toEqual(words);
});
