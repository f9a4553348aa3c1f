// Merges licence texts into one document: each text once, below the names of the parts that have it.
export interface LicenceText {
  readonly part: string;
  /** Empty if the part brings no text; its name then has the licence's. */
  readonly text: string;
}

const RULE = '-'.repeat(80);

export function mergeTexts(texts: readonly LicenceText[]): string {
  const parts = new Map<string, Set<string>>();
  for (const { part, text } of texts) {
    const key = text.replaceAll('\r\n', '\n').trim();
    parts.set(key, (parts.get(key) ?? new Set()).add(part));
  }
  const sections = [...parts].map(([text, names]) => [...names, '', text || 'No text in the package.', ''].join('\n'));
  return `Licences of the parts of Fairlead\n\n${sections.map((section) => `${RULE}\n${section}`).join('\n')}`;
}
