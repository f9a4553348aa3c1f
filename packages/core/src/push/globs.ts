// Globs of watch paths and tag patterns: `**`, `*`, `?`, `[a-z]` and `{a,b}`. Members and repositories choose them, so the time of a
// match is bounded by the product of both lengths, which no translation into regular expressions guarantees.

const star = Symbol('star');
type Step<T> = typeof star | ((item: T) => boolean);

/** More alternatives are not expanded: their braces are ordinary characters. */
const alternativesMax = 100;

/**
 * Returns a test of paths: a path matches a glob and none that begins with "!". A list of exclusions alone matches everything
 * else.
 */
export function matcherOf(globs: readonly string[]): (path: string) => boolean {
  const excluded = globs.filter((glob) => glob.startsWith('!')).map((glob) => compile(toGlob(glob.slice(1))));
  const included = globs.filter((glob) => !glob.startsWith('!')).map((glob) => compile(toGlob(glob)));
  return (path) =>
    (included.length === 0 || included.some((matches) => matches(path))) && !excluded.some((matches) => matches(path));
}

export function matchesGlob(glob: string, name: string): boolean {
  return compile(glob)(name);
}

/** A folder stands for everything in it. */
function toGlob(glob: string): string {
  return glob.endsWith('/') ? `${glob}**` : glob;
}

function compile(glob: string): (path: string) => boolean {
  const alternatives = expand(glob).map((each) => each.split('/').map(toSegmentStep));
  return (path) => {
    const segments = path.split('/');
    return alternatives.some((steps) => matchesSteps(steps, segments));
  };
}

function toSegmentStep(segment: string): Step<string> {
  if (segment === '**') return star;
  const steps = toCharacterSteps(segment);
  return (text) => matchesSteps(steps, text);
}

/** Goes back to the last star only: what an earlier star could take, the last one can take too. */
function matchesSteps<T>(steps: readonly Step<T>[], items: ArrayLike<T>): boolean {
  let [step, item, lastStar, starItem] = [0, 0, -1, 0];
  while (item < items.length) {
    const current = steps[step];
    if (current === star) {
      [lastStar, starItem] = [step, item];
      step += 1;
    } else if (current?.(items[item] as T) === true) {
      step += 1;
      item += 1;
    } else if (lastStar >= 0) {
      starItem += 1;
      [step, item] = [lastStar + 1, starItem];
    } else {
      return false;
    }
  }
  return steps.slice(step).every((rest) => rest === star);
}

function toCharacterSteps(segment: string): readonly Step<string>[] {
  const steps: Step<string>[] = [];
  for (let at = 0; at < segment.length; at += 1) {
    const character = segment.charAt(at);
    const end = character === '[' ? endOfClass(segment, at) : -1;
    if (character === '*') steps.push(star);
    else if (character === '?') steps.push(() => true);
    else if (end > at) {
      steps.push(toClass(segment.slice(at + 1, end)));
      at = end;
    } else {
      const escaped = character === '\\' && at + 1 < segment.length;
      if (escaped) at += 1;
      const wanted = escaped ? segment.charAt(at) : character;
      steps.push((found) => found === wanted);
    }
  }
  return steps;
}

/** Position of the bracket that ends a class; -1: the first one is an ordinary character. */
function endOfClass(segment: string, start: number): number {
  const isNegated = '!^'.includes(segment.charAt(start + 1));
  // A bracket at the very start is a member of the class.
  return segment.indexOf(']', start + (isNegated ? 3 : 2));
}

function toClass(inner: string): (character: string) => boolean {
  const isNegated = '!^'.includes(inner.charAt(0));
  const members = isNegated ? inner.slice(1) : inner;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < members.length; at += 1) {
    const from = members.charAt(at);
    const isRange = members[at + 1] === '-' && at + 2 < members.length;
    ranges.push([from, isRange ? members.charAt(at + 2) : from]);
    if (isRange) at += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}

/** Expands `{a,b}`, also nested. */
function expand(glob: string): readonly string[] {
  let globs: readonly string[] = [glob];
  for (;;) {
    const next = globs.flatMap(expandFirst);
    if (next.length === globs.length || next.length > alternativesMax) return globs;
    globs = next;
  }
}

function expandFirst(glob: string): readonly string[] {
  for (let start = 0; start < glob.length; start += 1) {
    const character = glob.charAt(start);
    if (character === '\\') start += 1;
    const commas = character === '{' ? separatorsOf(glob, start) : null;
    if (commas === null) continue;
    const [before, after] = [glob.slice(0, start), glob.slice((commas.at(-1) ?? start) + 1)];
    const starts = [start, ...commas.slice(0, -1)];
    return starts.map((from, index) => before + glob.slice(from + 1, commas[index]) + after);
  }
  return [glob];
}

/** Positions of the commas of a group and of its end; null without a comma or an end. */
function separatorsOf(glob: string, start: number): readonly number[] | null {
  const found: number[] = [];
  let depth = 0;
  for (let at = start; at < glob.length; at += 1) {
    const character = glob.charAt(at);
    if (character === '\\') at += 1;
    else if (character === '{') depth += 1;
    else if (character === ',' && depth === 1) found.push(at);
    else if (character === '}') {
      depth -= 1;
      if (depth === 0) return found.length === 0 ? null : [...found, at];
    }
  }
  return null;
}
