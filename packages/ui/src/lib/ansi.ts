// Terminal codes of a log line as styled parts. Pure. Invariant: the parts together are the line's plain text.
import Anser from 'anser';
import { lastState, withoutCodes } from './plain-text.ts';

export type AnsiColour = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'grey';

export interface AnsiPart {
  readonly text: string;
  /** Null: the colour of the text around it. */
  readonly colour: AnsiColour | null;
  readonly background: AnsiColour | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
}

const CODE = '\u001b[';

/** Splits a line at its colours; any colour becomes the nearest of ours, which is readable in both themes. */
export function ansiParts(raw: string): AnsiPart[] {
  const line = lastState(raw);
  if (!line.includes(CODE)) return plain(withoutCodes(line));
  return Anser.ansiToJson(line, { json: true, remove_empty: true }).flatMap((entry) => {
    const text = withoutCodes(entry.content);
    if (text === '') return [];
    const has = (name: (typeof entry.decorations)[number]) => entry.decorations.includes(name);
    const [ink, ground] = has('reverse') ? [entry.bg, entry.fg] : [entry.fg, entry.bg];
    return [
      {
        text,
        colour: nearest(ink),
        background: nearest(ground),
        bold: has('bold'),
        dim: has('dim'),
        italic: has('italic'),
        underline: has('underline'),
      },
    ];
  });
}

/** Returns the text as one part without a style. */
export function plain(text: string): AnsiPart[] {
  if (text === '') return [];
  return [{ text, colour: null, background: null, bold: false, dim: false, italic: false, underline: false }];
}

/** Upper hue in degrees of each colour. */
const HUES: readonly (readonly [number, AnsiColour])[] = [
  [20, 'red'],
  [75, 'yellow'],
  [165, 'green'],
  [200, 'cyan'],
  [260, 'blue'],
  [340, 'magenta'],
  [360, 'red'],
];

/** `rgb` is `187, 0, 0`. Black and white are the text's own colour, because the theme decides which of them is ink. */
function nearest(rgb: string | null): AnsiColour | null {
  const [red, green, blue] = (rgb ?? '').split(',').map(Number);
  if (red === undefined || green === undefined || blue === undefined) return null;
  const [high, low] = [Math.max(red, green, blue), Math.min(red, green, blue)];
  const chroma = high - low;
  if (chroma < 32) return high > 48 && high < 180 ? 'grey' : null;
  const sixth =
    high === red
      ? ((green - blue) / chroma + 6) % 6
      : high === green
        ? (blue - red) / chroma + 2
        : (red - green) / chroma + 4;
  return HUES.find(([end]) => sixth * 60 <= end)?.[1] ?? 'red';
}
