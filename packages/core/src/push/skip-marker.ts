// Skip markers in commit messages: those of GitHub Actions, and the same with "deploy".

const marker = /\[(?:skip (?:ci|actions|deploy)|(?:ci|actions|deploy) skip|no (?:ci|deploy))\]/i;
/** GitHub reads this trailer on the last line of a message, after an empty one. */
const trailer = /^skip-checks:\s*true$/i;

/** Returns the marker as it was written; null if the message has none. */
export function findSkipMarker(message: string): string | null {
  return marker.exec(message)?.[0] ?? findTrailer(message);
}

/** Without an expression over the whole message: a long one of empty lines would take hours. */
function findTrailer(message: string): string | null {
  const [last = '', before] = message.trimEnd().split('\n').slice(-2).reverse();
  return before?.trim() === '' && trailer.test(last.trim()) ? last.trim() : null;
}
