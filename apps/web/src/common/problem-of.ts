// The sentence that the API has for a field of a form. Pure.

/** By its path below `root`, which is the form's name in the call; parts of a field count for the field. */
export function problemOf(fields: Readonly<Record<string, string>>, root: string, path: string): string | undefined {
  const whole = `${root}.${path}`;
  return fields[whole] ?? Object.entries(fields).find(([name]) => name.startsWith(`${whole}.`))?.[1];
}
