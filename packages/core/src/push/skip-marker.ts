// Skip markers in commit messages: those of GitHub Actions, and the same with "deploy".

const marker = /\[(?:skip (?:ci|actions|deploy)|(?:ci|actions|deploy) skip|no (?:ci|deploy))\]/i;
/** GitHub reads this trailer at the end of a message. */
const trailer = /\n\s*\n\s*(skip-checks:\s*true)\s*$/i;

/** Returns the marker as it was written; null if the message has none. */
export function findSkipMarker(message: string): string | null {
  return marker.exec(message)?.[0] ?? trailer.exec(message)?.[1] ?? null;
}
