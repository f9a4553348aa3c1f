// Look of a target in all charts of a report: colour, dash and symbol, so that colour is never the only difference.
import type { BenchmarkDocumentTarget } from '@fairlead/core/benchmark/document';
import {
  type SymbolType,
  symbol,
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolSquare,
  symbolStar,
  symbolTriangle,
} from 'd3-shape';

/** Classes of the style sheet. */
const COLORS = ['blue', 'teal', 'violet', 'grey'] as const;
const SYMBOLS: readonly SymbolType[] = [
  symbolSquare,
  symbolTriangle,
  symbolDiamond,
  symbolCross,
  symbolStar,
  symbolCircle,
];
const DASHES = ['', '5 3', '2 2'];

export interface Look {
  readonly color: 'orange' | (typeof COLORS)[number];
  readonly dash: string;
  /** Path of the symbol around 0,0. */
  readonly mark: string;
}

const SYMBOL_AREA = 34;

/** Fairlead's proxy is orange, as in the dashboard; others follow in the order of the document. */
export function looksOf(targets: readonly BenchmarkDocumentTarget[]): ReadonlyMap<string, Look> {
  const own = targets.filter(({ kind }) => kind === 'proxy');
  const others = targets.filter(({ kind }) => kind !== 'proxy');
  const markOf = (shape: SymbolType | undefined) => symbol(shape ?? symbolCircle, SYMBOL_AREA)() ?? '';
  return new Map([
    ...own.map(({ name }, at): [string, Look] => [
      name,
      { color: 'orange', dash: DASHES[at % DASHES.length] ?? '', mark: markOf(symbolCircle) },
    ]),
    ...others.map(({ name }, at): [string, Look] => [
      name,
      {
        color: COLORS[at % COLORS.length] ?? 'grey',
        dash: DASHES[Math.floor(at / COLORS.length) % DASHES.length] ?? '',
        mark: markOf(SYMBOLS[at % SYMBOLS.length]),
      },
    ]),
  ]);
}
