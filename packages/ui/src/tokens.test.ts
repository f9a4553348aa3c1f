// Contrast tests of the design tokens, read from styles.css: text has 4.5:1 and graphics have 3:1, in light and in
// dark.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const css = readFileSync(new URL('./styles.css', import.meta.url), 'utf8');

const TEXTS = [
  'ink',
  'ink-soft',
  'ink-faint',
  'accent-text',
  'busy-text',
  'ok-text',
  'warn-text',
  'bad-text',
  'ansi-blue',
  'ansi-magenta',
  'ansi-cyan',
];
const GROUNDS = ['canvas', 'surface', 'raised', 'sunken', 'field'];
const GRAPHICS = [
  'line-control',
  'busy',
  'ok',
  'bad',
  'series-blue',
  'series-orange',
  'series-teal',
  'series-violet',
  'series-grey',
  'latency-p50',
  'latency-p95',
  'latency-p99',
];

describe.each([
  ['light', 0],
  ['dark', 1],
])('%s', (_name, side) => {
  test.each(TEXTS)('%s is readable on every background', (name) => {
    for (const ground of GROUNDS) {
      expect(contrast(token(name, side), token(ground, side)), `${name} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  });

  test.each(['accent', 'busy', 'ok', 'warn', 'bad'])('%s-text is readable on its own wash', (name) => {
    const wash = token(`${name}-wash`, side);
    const ground = blend(wash, token('surface', side));
    expect(contrast(token(`${name}-text`, side), ground)).toBeGreaterThanOrEqual(4.5);
  });

  test('the text of a filled button is readable', () => {
    expect(contrast(token('accent-ink', side), token('accent', side))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(token('accent-ink', side), token('accent-hover', side))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(token('bad-ink', side), token('bad', side))).toBeGreaterThanOrEqual(4.5);
  });

  test('the border of a field is visible beside its fill, and on cards and dialogs', () => {
    for (const ground of ['field', 'surface', 'raised']) {
      expect(contrast(token('line-control', side), token(ground, side)), ground).toBeGreaterThanOrEqual(3);
    }
  });

  test.each(GRAPHICS)('%s is visible on cards and on the page', (name) => {
    for (const ground of ['canvas', 'surface']) {
      expect(contrast(token(name, side), token(ground, side)), `${name} on ${ground}`).toBeGreaterThanOrEqual(3);
    }
  });
});

interface Rgb {
  /** Linear light from 0 to 1. */
  readonly rgb: readonly [number, number, number];
  readonly alpha: number;
}

function token(name: string, side: number): Rgb {
  const declared = new RegExp(`--${name}: light-dark\\((oklch\\([^)]*\\)), (oklch\\([^)]*\\))\\)`).exec(css);
  const value = declared?.[side + 1];
  if (value === undefined) throw new Error(`styles.css declares no --${name} for both themes`);
  const [lightness = 0, chroma = 0, hue = 0, alpha = 1] = value.match(/[\d.]+/g)?.map(Number) ?? [];
  return { rgb: oklchToLinear(lightness, chroma, hue), alpha };
}

/**
 * Converts OKLCH to linear sRGB (https://www.w3.org/TR/css-color-4/#color-conversion-code); clips out-of-gamut channels
 * as screens do.
 */
function oklchToLinear(lightness: number, chroma: number, hue: number): [number, number, number] {
  const angle = (hue * Math.PI) / 180;
  const [a, b] = [chroma * Math.cos(angle), chroma * Math.sin(angle)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clip = (value: number) => Math.min(1, Math.max(0, value));
  return [
    clip(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    clip(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    clip(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** Blends in encoded sRGB, as browsers do. */
function blend(over: Rgb, under: Rgb): Rgb {
  const mix = (top: number, bottom: number) => decode(encode(top) * over.alpha + encode(bottom) * (1 - over.alpha));
  return {
    rgb: [mix(over.rgb[0], under.rgb[0]), mix(over.rgb[1], under.rgb[1]), mix(over.rgb[2], under.rgb[2])],
    alpha: 1,
  };
}

function encode(value: number): number {
  return value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055;
}

function decode(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

/** Computes the contrast ratio (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio). */
function contrast(one: Rgb, other: Rgb): number {
  const luminance = ({ rgb }: Rgb) => 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
  const [high, low] = [luminance(one), luminance(other)].sort((left, right) => right - left);
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
}
