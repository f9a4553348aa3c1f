'use client';
// Period of the charts in the page's URL, and its changes. A change shows at once; no server renders the page anew.
import { useMemo } from 'react';
import type { Range } from '../../api/types.ts';
import { replaceParams, useUrlParams } from '../page/use-url-state.ts';
import { formatMoment, PERIOD_PARAMS, type Period, parsePeriod, type TimeSpan } from './period.ts';

export interface PeriodState {
  /** The same object as long as it is the same period. */
  readonly period: Period;
  /** True if the period before is drawn too. */
  readonly isCompared: boolean;
  readonly setRange: (range: Range) => void;
  readonly setSpan: (span: TimeSpan) => void;
  readonly setCompared: (isCompared: boolean) => void;
  /** Back to the page's own range. */
  readonly reset: () => void;
}

export function usePeriod(fallback: Range): PeriodState {
  const params = useUrlParams();
  const [range, from, to] = [PERIOD_PARAMS.range, PERIOD_PARAMS.from, PERIOD_PARAMS.to].map(
    (name) => params.get(name) ?? '',
  );
  const period = useMemo(() => {
    const named: Readonly<Record<string, string | undefined>> = { range, from, to };
    return parsePeriod((name) => named[name] ?? '', fallback);
  }, [range, from, to, fallback]);
  return {
    period,
    isCompared: params.get(PERIOD_PARAMS.compare) === '1',
    setRange: (next) => replaceParams({ range: next === fallback ? '' : next, from: '', to: '' }),
    setSpan: (span) => replaceParams({ from: formatMoment(span.from), to: formatMoment(span.to) }),
    setCompared: (isCompared) => replaceParams({ compare: isCompared ? '1' : '' }),
    reset: () => replaceParams({ range: '', from: '', to: '' }),
  };
}
