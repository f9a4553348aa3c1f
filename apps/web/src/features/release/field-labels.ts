// Labels of the fields of a release and its settings. Pure.

const NAMES: Readonly<Record<string, string>> = {
  commitHash: 'Commit',
  commitSubject: 'Commit message',
  artifactDigest: 'Artifact',
  runtime: 'Runtime',
  command: 'Start command',
  healthPath: 'Health path',
};

/** Returns `memoryBytesMax` as “Memory bytes max”; a variable keeps its own name. */
export function fieldLabel(name: string): string {
  const known = NAMES[name];
  if (known !== undefined) return known;
  if (name.startsWith('variables.')) return name.slice('variables.'.length);
  const words = name.replace(/([A-Z])/g, ' $1').toLowerCase();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
