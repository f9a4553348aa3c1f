// Chooses the environments of another project for an app that moves there. Pure.

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Maps each environment of the app to the target's of the same name, else to a free one. Null if there are too few. */
export function mapByName(from: readonly Named[], to: readonly Named[]): Map<string, string> | null {
  if (to.length < from.length) return null;
  const chosen = new Map<string, string>();
  const taken = new Set<string>();
  const take = (source: Named, target: Named | undefined) => {
    if (target === undefined) return;
    chosen.set(source.id, target.id);
    taken.add(target.id);
  };
  for (const source of from) {
    take(
      source,
      to.find(({ id, name }) => !taken.has(id) && name.toLowerCase() === source.name.toLowerCase()),
    );
  }
  for (const source of from) {
    if (!chosen.has(source.id))
      take(
        source,
        to.find(({ id }) => !taken.has(id)),
      );
  }
  return chosen;
}
