// A command between the line that people write and the list of words that servers run. Pure.

/** A command as people write it, cut into program and arguments; quotes keep spaces. No shell ever sees it. */
export function splitCommand(text: string): string[] {
  const words: string[] = [];
  for (const match of text.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)) {
    const [, double, single, bare] = match;
    words.push(double === undefined ? (single ?? bare ?? '') : double.replace(/\\(.)/g, '$1'));
  }
  return words;
}

/** The other way: an argument with spaces or quotes is put in double quotes. */
export function joinCommand(words: readonly string[]): string {
  return words.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : `"${word.replace(/["\\]/g, '\\$&')}"`)).join(' ');
}
