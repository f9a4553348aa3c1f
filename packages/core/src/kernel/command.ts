// Converts a command between a typed line and the list of words that a server runs. Pure. The agent reads fairlead.toml and Procfiles
// by the same rule: `packages/contract/fixtures/command-lines.json`.

/** Quotes, variables, pipes, redirections, patterns, comments and assignments. */
const shellSyntax = /["'`$&|;<>()*?[\]{}~#!\\]|^\w+=/;
/** Words of the shell itself (POSIX, 2.9.4 and 2.14): no program of the name is on a server. */
const shellWords: ReadonlySet<string> = new Set(
  '. : case cd eval exec exit export for if read readonly set shift source times trap ulimit umask unset until wait while'.split(
    ' ',
  ),
);

/** Splits a line of plain words; any other line is run by a shell. An empty line has no words. */
export function commandOf(line: string): string[] {
  const text = line.trim();
  if (text === '') return [];
  const words = text.split(/\s+/);
  return shellSyntax.test(text) || shellWords.has(words[0] ?? '') ? ['sh', '-c', text] : words;
}

/** Writes a command as its original line, or as one that a shell would split into the same words. */
export function commandLine(words: readonly string[]): string {
  const [program, option, line, ...rest] = words;
  if (program === 'sh' && option === '-c' && line !== undefined && rest.length === 0 && commandOf(line)[2] === line) {
    return line;
  }
  return words.map((word, at) => (isPlain(word, at) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

function isPlain(word: string, at: number): boolean {
  return at === 0 ? commandOf(word)[0] === word : commandOf(`program ${word}`)[1] === word;
}
