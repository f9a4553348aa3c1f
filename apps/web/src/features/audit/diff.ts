// Compares an event's fields before and after. Pure.

type Fields = Readonly<Record<string, unknown>> | null;

export interface DiffLine {
  readonly field: string;
  /** Null if the field did not exist. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Names of ids, by id. */
type Names = Readonly<Record<string, string>>;

/** Returns every field of either side; fields on both sides come first. An id is shown with its name. */
export function diffOf(before: Fields, after: Fields, known: Names = {}): DiffLine[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const lines = names.map((field) => ({
    field,
    before: textOf(before, field, known),
    after: textOf(after, field, known),
  }));
  return lines.sort((a, b) => Number(isChange(b)) - Number(isChange(a)));
}

function isChange({ before, after }: DiffLine): boolean {
  return before !== null && after !== null;
}

function textOf(fields: Fields, field: string, known: Names): string | null {
  if (fields === null || !Object.hasOwn(fields, field)) return null;
  const value = fields[field];
  if (value === null || value === '') return 'none';
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : value.map((each) => named(String(each), known)).join(' ');
  return named(String(value), known);
}

function named(text: string, known: Names): string {
  const name = Object.hasOwn(known, text) ? known[text] : undefined;
  return name === undefined ? text : `${name} (${text})`;
}
