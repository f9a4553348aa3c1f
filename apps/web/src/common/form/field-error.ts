// Finds the API's error message for a field of a form. Pure.

/**
 * Returns the error at the field's path below `root`, the form's name in the call; errors of nested values count for
 * the field.
 */
export function fieldError(fields: Readonly<Record<string, string>>, root: string, path: string): string | undefined {
  const whole = `${root}.${path}`;
  return fields[whole] ?? Object.entries(fields).find(([name]) => name.startsWith(`${whole}.`))?.[1];
}
