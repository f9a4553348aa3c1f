// Compares a draft with the saved values. Pure.

/** Returns the names of the fields that differ. */
export function changedFields<Fields extends object>(saved: Fields, draft: Fields): (keyof Fields)[] {
  const names = Object.keys(draft) as (keyof Fields)[];
  return names.filter((name) => JSON.stringify(saved[name]) !== JSON.stringify(draft[name]));
}
