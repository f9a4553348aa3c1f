// Ranks the commands of the palette against a search: exact, prefix, words, fuzzy. Pure.

export interface Searchable {
  readonly title: string;
  /** Synonyms and ids by which it is found too. */
  readonly keywords?: readonly string[];
  /** True if it does more than open a page. Among equal matches, pages come first. */
  readonly isAction?: boolean;
}

const EXACT = 60;
const EXACT_KEYWORD = 50;
const PREFIX = 40;
const PREFIX_KEYWORD = 30;
const WORDS = 20;
const FUZZY = 10;
/** Shorter searches match letters of almost everything. */
const FUZZY_LENGTH_MIN = 3;

/** Returns how well the search matches; 0 if it doesn't. An empty search matches everything alike. */
export function commandScore({ title, keywords = [] }: Searchable, search: string): number {
  const wanted = search.trim().toLowerCase();
  if (wanted === '') return WORDS;
  const name = title.toLowerCase();
  const synonyms = keywords.map((keyword) => keyword.toLowerCase());
  if (name === wanted) return EXACT;
  if (synonyms.includes(wanted)) return EXACT_KEYWORD;
  if (name.startsWith(wanted)) return PREFIX;
  if (synonyms.some((synonym) => synonym.startsWith(wanted))) return PREFIX_KEYWORD;
  const words = wordsOf([name, ...synonyms].join(' '));
  if (wordsOf(wanted).every((word) => words.some((each) => each.startsWith(word)))) return WORDS;
  return wanted.length >= FUZZY_LENGTH_MIN && hasLettersInOrder(name, wanted) ? FUZZY : 0;
}

/** Returns the matching commands, best first. Pages precede actions that match alike; the rest keeps its order. */
export function rankCommands<Command extends Searchable>(commands: readonly Command[], search: string): Command[] {
  return commands
    .map((command) => ({ command, score: commandScore(command, search) }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score || weightOf(left.command) - weightOf(right.command))
    .map(({ command }) => command);
}

function weightOf({ isAction = false }: Searchable): number {
  return isAction ? 1 : 0;
}

function wordsOf(text: string): string[] {
  return text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
}

/** Reports whether a word of the text begins with the first letter, and the others follow in order close to it. */
function hasLettersInOrder(text: string, letters: string): boolean {
  const spanMax = letters.length * 2;
  for (let start = 0; start < text.length; start += 1) {
    const beginsWord = start === 0 || !/[\p{L}\p{N}]/u.test(text[start - 1] ?? '');
    if (!beginsWord || text[start] !== letters[0]) continue;
    let at = start;
    for (const letter of letters.slice(1)) at = at < 0 ? at : text.indexOf(letter, at + 1);
    if (at >= 0 && at - start < spanMax) return true;
  }
  return false;
}
