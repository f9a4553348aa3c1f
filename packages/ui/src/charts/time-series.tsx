'use client';
// Time chart with title and figures above the plot. Figures show the cursor's values, or else the latest ones.
import { useMemo } from 'react';
import { Area, CartesianGrid, ComposedChart, Line, ResponsiveContainer, XAxis, YAxis } from 'recharts';
import { cn } from '../lib/class-names.ts';
import { useChartGroup } from './chart-group.tsx';
import { useCursor } from './cursor.ts';
import { PLOT, PlotOverlay } from './plot-overlay.tsx';
import { cursorLabel, timeLabel, timeTicks } from './prepare/ticks.ts';
import { loneTimes, nearestRow, scaleOf, type TimeRow, withGaps } from './prepare/time-series.ts';

export interface Series {
  readonly key: string;
  readonly label: string;
  /** CSS colour token, such as `var(--series-blue)`. */
  readonly color: string;
  readonly shape?: 'line' | 'area';
}

export interface Band {
  readonly low: string;
  readonly high: string;
  readonly color: string;
}

export interface TimeSeriesChartProps {
  readonly title: string;
  readonly rows: readonly TimeRow[];
  readonly series: readonly Series[];
  readonly band?: Band;
  readonly format: (value: number) => string;
  /** Formats the labels of the y axis, which may omit the unit of a rate. */
  readonly formatAxis?: (value: number) => string;
  readonly base?: 1000 | 1024;
  /** Minimum upper end of the scale. */
  readonly floor?: number;
  readonly height?: number;
  /** Text on the plot without data. */
  readonly emptyText?: string;
  readonly className?: string;
}

export function TimeSeriesChart(props: TimeSeriesChartProps) {
  const { title, rows, series, band, format, base = 1000, floor = 0, height = 160, className } = props;
  const { span, stepMs, markers, zoneOffsetMs } = useChartGroup();
  const drawn = useMemo(() => withGaps(rows, stepMs), [rows, stepMs]);
  const scale = useMemo(
    () =>
      scaleOf(
        drawn,
        series.map((each) => each.key),
        base,
        floor,
      ),
    [drawn, series, base, floor],
  );
  const ticks = timeTicks(span.from, span.to, 5, zoneOffsetMs);
  const spanMs = span.to - span.from;
  const empty = lastMeasured(drawn, series) === null;

  return (
    <figure className={cn('min-w-0', className)}>
      <figcaption className="flex min-h-6 flex-wrap items-baseline gap-x-4 gap-y-0.5">
        <span className="font-medium text-ink">{title}</span>
        <Figures rows={drawn} series={series} format={format} />
      </figcaption>
      <div className="relative mt-2" style={{ height }}>
        <div aria-hidden="true" className="pointer-events-none absolute inset-0">
          <ResponsiveContainer width="100%" height="100%" initialDimension={{ width: 480, height }}>
            <ComposedChart data={drawn} margin={PLOT.margin} accessibilityLayer={false}>
              <CartesianGrid vertical={false} stroke="var(--line)" />
              <XAxis
                dataKey="at"
                type="number"
                domain={[span.from, span.to]}
                allowDataOverflow
                ticks={ticks}
                tickFormatter={(at: number) => timeLabel(at, spanMs, zoneOffsetMs)}
                height={PLOT.axisHeight}
                axisLine={{ stroke: 'var(--line-strong)' }}
                tickLine={false}
                tick={AXIS_TEXT}
                interval="preserveStartEnd"
                minTickGap={24}
              />
              <YAxis
                width={PLOT.axisWidth}
                domain={[0, scale.max]}
                ticks={[...scale.ticks]}
                tickFormatter={props.formatAxis ?? format}
                axisLine={false}
                tickLine={false}
                tick={AXIS_TEXT}
                interval={0}
              />
              {band ? (
                <Area
                  dataKey={(row: TimeRow) => bandOf(row, band)}
                  stroke="none"
                  fill={band.color}
                  fillOpacity={0.14}
                  isAnimationActive={false}
                  connectNulls={false}
                  activeDot={false}
                />
              ) : null}
              {series.map((each) =>
                each.shape === 'area' ? (
                  <Area
                    key={each.key}
                    dataKey={(row: TimeRow) => row.values[each.key] ?? null}
                    stroke={each.color}
                    strokeWidth={1.5}
                    fill={each.color}
                    fillOpacity={0.12}
                    isAnimationActive={false}
                    connectNulls={false}
                    dot={dotsOf(drawn, each)}
                    activeDot={false}
                  />
                ) : (
                  <Line
                    key={each.key}
                    dataKey={(row: TimeRow) => row.values[each.key] ?? null}
                    stroke={each.color}
                    strokeWidth={1.5}
                    isAnimationActive={false}
                    connectNulls={false}
                    dot={dotsOf(drawn, each)}
                    activeDot={false}
                  />
                ),
              )}
            </ComposedChart>
          </ResponsiveContainer>
        </div>
        {empty ? (
          <p className="absolute inset-0 flex items-center justify-center pb-5 pl-14 text-sm text-ink-faint">
            {props.emptyText ?? 'No samples in this span'}
          </p>
        ) : null}
        <PlotOverlay span={span} stepMs={stepMs} markers={markers} label={summaryOf(title, drawn, series, format)} />
      </div>
    </figure>
  );
}

const AXIS_TEXT = { fill: 'var(--ink-faint)', fontSize: 11, fontFamily: 'var(--font-geist-mono)' } as const;

function Figures({ rows, series, format }: Pick<TimeSeriesChartProps, 'rows' | 'series' | 'format'>) {
  const { span, stepMs, zoneOffsetMs } = useChartGroup();
  const cursor = useCursor();
  const row = cursor === null ? lastMeasured(rows, series) : nearestRow(rows, cursor, stepMs * 2);
  return (
    <span className="ml-auto flex flex-wrap items-baseline gap-x-3 text-sm">
      {cursor === null ? null : (
        <span className="tabular font-mono text-xs text-ink-faint">
          {cursorLabel(cursor, span.to - span.from, zoneOffsetMs)}
        </span>
      )}
      {series.map((each) => {
        const value = row?.values[each.key];
        return (
          <span key={each.key} className="inline-flex items-baseline gap-1.5">
            <span
              aria-hidden="true"
              className="h-0.5 w-2.5 -translate-y-1 rounded-full"
              style={{ background: each.color }}
            />
            {series.length > 1 || each.label !== '' ? <span className="text-ink-faint">{each.label}</span> : null}
            <span className="tabular min-w-12 text-right font-mono text-xs text-ink">
              {value === null || value === undefined ? '–' : format(value)}
            </span>
          </span>
        );
      })}
    </span>
  );
}

interface PlottedPoint {
  readonly cx?: number;
  readonly cy?: number;
  readonly payload?: TimeRow;
}

/** Returns a dot for each isolated value; a series without one gets no layer. */
function dotsOf(rows: readonly TimeRow[], { key, color }: Series) {
  const lone = loneTimes(rows, key);
  if (lone.size === 0) return false;
  return ({ cx, cy, payload }: PlottedPoint) =>
    payload !== undefined && lone.has(payload.at) && cy !== undefined ? (
      <circle key={payload.at} cx={cx} cy={cy} r={2} fill={color} />
    ) : (
      <g key={payload?.at} />
    );
}

function bandOf(row: TimeRow, band: Band): [number, number] | null {
  const [low, high] = [row.values[band.low], row.values[band.high]];
  return low === null || low === undefined || high === null || high === undefined ? null : [low, high];
}

function lastMeasured(rows: readonly TimeRow[], series: readonly Series[]): TimeRow | null {
  return rows.findLast((row) => series.some(({ key }) => (row.values[key] ?? null) !== null)) ?? null;
}

/** Returns the text alternative for screen readers. */
function summaryOf(
  title: string,
  rows: readonly TimeRow[],
  series: readonly Series[],
  format: (value: number) => string,
): string {
  const parts = series.flatMap((each) => {
    const values = rows.flatMap((row) => row.values[each.key] ?? []);
    const last = values.at(-1);
    if (last === undefined) return [];
    return [`${each.label || title}: now ${format(last)}, highest ${format(Math.max(...values))}`];
  });
  return parts.length === 0 ? `${title}: no samples` : `${title}. ${parts.join('; ')}. Arrow keys move the cursor.`;
}
