'use client';
// Time chart with title and figures above the plot. The newest values stay beside the title, those at the cursor beside it.
import { Fragment, useMemo } from 'react';
import { Area, CartesianGrid, ComposedChart, Line, ResponsiveContainer, XAxis, YAxis } from 'recharts';
import { useClockFormats } from '../clock-formats.tsx';
import { cn } from '../lib/class-names.ts';
import { useChartGroup } from './chart-group.tsx';
import { PLOT, PlotOverlay } from './plot-overlay.tsx';
import { cursorLabel, timeLabel, timeTicks } from './prepare/ticks.ts';
import {
  loneTimes,
  nearestRow,
  previousKey,
  scaleOf,
  type TimeRow,
  withGaps,
  withPrevious,
} from './prepare/time-series.ts';

export interface Series {
  readonly key: string;
  readonly label: string;
  /** CSS colour token, such as `var(--series-blue)`. */
  readonly color: string;
  readonly shape?: 'line' | 'area';
  /** True: drawn on top of the stacked series before it. */
  readonly stacked?: boolean;
}

export interface Band {
  readonly low: string;
  readonly high: string;
  readonly color: string;
}

export interface PreviousRows {
  readonly rows: readonly TimeRow[];
  readonly shiftMs: number;
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
  /** Rows of the period before, and the time between both; drawn dashed. */
  readonly previous?: PreviousRows | undefined;
  /** Series of the period before that are drawn; default: all. */
  readonly previousKeys?: readonly string[];
  /** Value at the cursor beside the series, such as the sum of stacked ones. */
  readonly extra?: { readonly key: string; readonly label: string };
  /** Text on the plot without data. */
  readonly emptyText?: string;
  readonly className?: string;
}

export function TimeSeriesChart(props: TimeSeriesChartProps) {
  const { title, rows, series, band, format, base = 1000, floor = 0, height = 160, className, previous, extra } = props;
  const { previousKeys } = props;
  const { span, stepMs, zoneOffsetMs } = useChartGroup();
  const formats = useClockFormats();
  const compared = useMemo(
    () => (previous === undefined ? [] : (previousKeys ?? series.map(({ key }) => key))),
    [previous, previousKeys, series],
  );
  const drawn = useMemo(() => {
    const all = previous === undefined ? rows : withPrevious(rows, previous.rows, compared, stepMs, previous.shiftMs);
    return withGaps(all, stepMs);
  }, [rows, previous, compared, stepMs]);
  const scale = useMemo(() => {
    const stacked = series.filter((each) => each.stacked === true).map(({ key }) => key);
    return scaleOf(drawn, [...series.map(({ key }) => key), ...compared.map(previousKey)], base, floor, stacked);
  }, [drawn, series, compared, base, floor]);
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
                tickFormatter={(at: number) => timeLabel(at, spanMs, formats)}
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
              {compared.map((key) => (
                <Line
                  key={previousKey(key)}
                  dataKey={(row: TimeRow) => row.values[previousKey(key)] ?? null}
                  stroke={series.find((each) => each.key === key)?.color ?? 'var(--ink-faint)'}
                  strokeWidth={1.25}
                  strokeDasharray="4 3"
                  strokeOpacity={0.8}
                  isAnimationActive={false}
                  connectNulls
                  dot={false}
                  activeDot={false}
                />
              ))}
              {series.map((each, index) =>
                each.shape === 'area' ? (
                  <Area
                    key={each.key}
                    {...(each.stacked === true ? { stackId: 'all' } : {})}
                    dataKey={(row: TimeRow) => row.values[each.key] ?? null}
                    // An upper layer is a filled band: its line would color the edge of the layer below.
                    stroke={each.stacked === true && index > 0 ? 'none' : each.color}
                    strokeWidth={1.5}
                    fill={each.color}
                    fillOpacity={each.stacked === true && index > 0 ? 0.7 : 0.12}
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
            {props.emptyText ?? 'No samples in this period'}
          </p>
        ) : null}
        <PlotOverlay
          label={summaryOf(title, drawn, series, format)}
          readout={(at) => (
            <CursorValues
              time={cursorLabel(at, spanMs, formats)}
              row={nearestRow(drawn, at, stepMs * 2)}
              series={[...series, ...(extra === undefined ? [] : [{ ...extra, color: null }])]}
              title={title}
              compared={compared}
              format={format}
            />
          )}
        />
      </div>
    </figure>
  );
}

const AXIS_TEXT = { fill: 'var(--ink-faint)', fontSize: 11, fontFamily: 'var(--font-geist-mono)' } as const;

/** A chart's newest values stay beside its title only while they are current. */
const CURRENT_STEPS = 3;

function Figures({ rows, series, format }: Pick<TimeSeriesChartProps, 'rows' | 'series' | 'format'>) {
  const { span, stepMs } = useChartGroup();
  const last = lastMeasured(rows, series);
  const row = last !== null && last.at >= span.to - CURRENT_STEPS * stepMs ? last : null;
  return (
    <span className="ml-auto flex flex-wrap items-baseline gap-x-3 text-sm">
      {series.map((each) => {
        const value = row?.values[each.key];
        return (
          <span key={each.key} className="inline-flex items-baseline gap-1.5">
            <Swatch color={each.color} />
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

function Swatch({ color }: { readonly color: string | null }) {
  return (
    <span
      aria-hidden="true"
      className="h-0.5 w-2.5 shrink-0 -translate-y-1 rounded-full"
      style={color === null ? undefined : { background: color }}
    />
  );
}

interface CursorValuesProps {
  /** Label of a series without its own. */
  readonly title: string;
  readonly time: string;
  readonly row: TimeRow | null;
  readonly series: readonly { readonly key: string; readonly label: string; readonly color: string | null }[];
  /** Series that have a value of the period before. */
  readonly compared: readonly string[];
  readonly format: (value: number) => string;
}

function CursorValues({ title, time, row, series, compared, format }: CursorValuesProps) {
  const text = (key: string) => {
    const value = row?.values[key];
    return value === null || value === undefined ? '–' : format(value);
  };
  return (
    <div className="grid grid-cols-[auto_auto] gap-x-3 gap-y-0.5 text-xs">
      <span className="tabular col-span-2 font-mono text-ink-faint">{time}</span>
      {series.map(({ key, label, color }) => (
        <Fragment key={key}>
          <span className="inline-flex items-baseline gap-1.5 text-ink-soft">
            <Swatch color={color} />
            {label || title}
          </span>
          <span className="tabular text-right font-mono text-ink">{text(key)}</span>
          {compared.includes(key) ? (
            <>
              <span className="pl-4 text-ink-faint">before</span>
              <span className="tabular text-right font-mono text-ink-faint">{text(previousKey(key))}</span>
            </>
          ) : null}
        </Fragment>
      ))}
    </div>
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
    return [`${each.label || title}: last ${format(last)}, highest ${format(Math.max(...values))}`];
  });
  return parts.length === 0
    ? `${title}: no samples`
    : `${title}. ${parts.join('; ')}. Arrow keys move the cursor, + and - zoom.`;
}
