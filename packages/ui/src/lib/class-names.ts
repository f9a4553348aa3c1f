// Joins class names. Does not resolve conflicts: a component offers a variant instead of an override.
export type ClassValue = string | false | null | undefined;

export function cn(...values: ClassValue[]): string {
  return values.filter(Boolean).join(' ');
}
