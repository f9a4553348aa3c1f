// Scores a command of the palette against a search. Pure.

const NAME = 1;
const START = 0.9;
const WORDS = 0.5;

/**
 * Returns 0 unless each word of the search begins a word of the value or of the keywords. A search that begins a
 * keyword, which is the name of a page or app, scores highest, so that Enter opens it and changes nothing.
 */
export function commandScore(value: string, search: string, keywords: readonly string[] = []): number {
  const wanted = search.trim().toLowerCase();
  const text = [value, ...keywords].join(' ').toLowerCase();
  const words = text.split(/[^\p{L}\p{N}]+/u);
  if (!wanted.split(/[^\p{L}\p{N}]+/u).every((word) => words.some((each) => each.startsWith(word)))) return 0;
  if (keywords.some((keyword) => keyword.toLowerCase().startsWith(wanted))) return NAME;
  return value.toLowerCase().startsWith(wanted) ? START : WORDS;
}
