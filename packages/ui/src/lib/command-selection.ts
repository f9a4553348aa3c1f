// Selected row of the palette. Pure.

export interface CommandSelection {
  /** Search and level in which the person moved the selection. */
  readonly scope: string;
  readonly id: string;
}

/** Returns the row that the person moved to; the first row before that, after another search, and when it is gone. */
export function selectedId(
  ids: readonly string[],
  selection: CommandSelection | null,
  scope: string,
): string | undefined {
  if (selection !== null && selection.scope === scope && ids.includes(selection.id)) return selection.id;
  return ids[0];
}

/** Returns the row a number of rows away, around the ends. */
export function movedId(ids: readonly string[], from: string | undefined, by: number): string | undefined {
  const at = from === undefined ? 0 : ids.indexOf(from);
  return ids[(at + by + ids.length) % ids.length];
}
