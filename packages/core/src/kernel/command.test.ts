import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandLine, commandOf } from './command.ts';
import { commandSchema, namedCommandSchema } from './process.ts';

// The agent reads the same file.
const fixture = new URL('../../../contract/fixtures/command-lines.json', import.meta.url);
const { words, shell } = JSON.parse(readFileSync(fixture, 'utf8')) as {
  words: Record<string, string[]>;
  shell: string[];
};

test.each(Object.entries(words))('%j is a list of words', (line, expected) => {
  expect(commandOf(line)).toEqual(expected);
  expect(commandOf(commandLine(expected))).toEqual(expected);
});

test.each(shell)('%s is run by a shell, and shown as it was written', (line) => {
  expect(commandOf(line)).toEqual(['sh', '-c', line]);
  expect(commandLine(['sh', '-c', line])).toBe(line);
});

test('words that no line of plain words has are shown as a shell reads them', () => {
  expect(commandLine(['node', '-e', 'console.log("a", 1)'])).toBe(`node -e 'console.log("a", 1)'`);
  expect(commandLine(['echo', "it's", ''])).toBe(`echo 'it'\\''s' ''`);
  expect(commandLine(['sh', '-c', 'node server.js'])).toBe("sh -c 'node server.js'");
  expect(commandLine(['sh', '-c', '$0', 'x'])).toBe("sh -c '$0' x");
  expect(commandLine(['exec', 'A=1', 'A=1'])).toBe("'exec' A=1 A=1");
});

test('a command is a line or a list of words', () => {
  expect(commandSchema.parse('node server.js')).toEqual(['node', 'server.js']);
  expect(commandSchema.parse('a && b')).toEqual(['sh', '-c', 'a && b']);
  expect(commandSchema.parse(['node', 'my $server.js'])).toEqual(['node', 'my $server.js']);
  expect(commandSchema.parse(' ')).toEqual([]);
  expect(namedCommandSchema.safeParse(' ').success).toBe(false);
  for (const bad of [['a\nb'], ['a\0'], [''], 'a\nb', 'a\0', 'x'.repeat(5000), 7]) {
    expect(commandSchema.safeParse(bad).success, JSON.stringify(bad)).toBe(false);
  }
  expect(commandSchema.safeParse(['a\nb']).error?.issues[0]?.message).toBe('An argument has no line breaks.');
});
