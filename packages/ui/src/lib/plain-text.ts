// Plain text of log lines. Pure. Apart from ansi.ts, so that pages know the text before they load the log view.

// Terminal colour codes, cursor moves, and other control characters except the tab, which becomes spaces. Built from
// escapes, so that the source contains no control character.
const CONTROL = new RegExp(
  [
    '\\u001b\\[[0-?]*[ -/]*[@-~]',
    '\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)',
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f]',
  ].join('|'),
  'g',
);
/** Returns a line as plain text with tabs expanded; a carriage return overwrites, as on a terminal. */
export function plainText(raw: string): string {
  return withoutCodes(lastState(raw));
}

/** Returns what a terminal shows of a line: a carriage return overwrites. */
export function lastState(raw: string): string {
  const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
  return line.slice(line.lastIndexOf('\r') + 1);
}

export function withoutCodes(text: string): string {
  return text.replace(CONTROL, '').replaceAll('\t', '    ');
}
