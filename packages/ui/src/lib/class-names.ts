// Joins class names. It never resolves conflicts: a component offers a variant instead of letting a caller overrule it.
export type ClassValue = string | false | null | undefined;

export function cn(...values: ClassValue[]): string {
  return values.filter(Boolean).join(' ');
}
