'use client';
// Small multiples over concurrency: one panel for each condition, all on one scale, with labels at the line ends. The
// band around a line spans its repeats: a wide one means an uncertain figure.
import { Fragment, type PointerEvent, useState } from 'react';
import { Area, CartesianGrid, ComposedChart, Line, ResponsiveContainer, XAxis, YAxis } from 'recharts';
import { cn } from '../lib/class-names.ts';
import { endLabels, type Measurement, type Panel, prepareMultiples } from './prepare/multiples.ts';
import type { Scale } from './prepare/ticks.ts';

export interface MultiplesProps {
  readonly title: string;
  readonly detail?: string;
  readonly measurements: readonly Measurement[];
  /** Colour of each series, by its name. */
  readonly colors: Readonly<Record<string, string>>;
  readonly format: (value: number) => string;
  readonly base?: 1000 | 1024;
  readonly xLabel: string;
  readonly height?: number;
  readonly className?: string;
}

const AXIS_WIDTH = 60;
const AXIS_HEIGHT = 22;
const LABEL_WIDTH = 64;
/** Space between the ends of the axis and the first and last point. */
const POINT_PADDING = 8;
const MARGIN = { top: 8, right: LABEL_WIDTH, bottom: 0, left: 0 } as const;

export function Multiples(props: MultiplesProps) {
  const { title, detail, measurements, base = 1000, height = 190, className } = props;
  const { panels, xs, scale } = prepareMultiples(measurements, base);
  return (
    <figure className={cn('min-w-0', className)}>
      <figcaption className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-medium text-ink">{title}</span>
        {detail ? <span className="text-sm text-ink-faint">{detail}</span> : null}
      </figcaption>
      <div className={cn('mt-3 grid gap-x-6 gap-y-5', panels.length > 1 && 'sm:grid-cols-2')}>
        {panels.map((panel) => (
          <PanelChart key={panel.title} panel={panel} xs={xs} scale={scale} height={height} {...props} />
        ))}
      </div>
    </figure>
  );
}

interface PanelChartProps extends MultiplesProps {
  readonly panel: Panel;
  readonly xs: readonly number[];
  readonly scale: Scale;
  readonly height: number;
}

function PanelChart({ title, panel, xs, scale, colors, format, xLabel, height }: PanelChartProps) {
  const rows = xs.map((x) => ({
    x: String(x),
    cells: Object.fromEntries(
      panel.lines.map((line) => [line.series, line.cells.find((cell) => cell.x === x) ?? null]),
    ),
  }));
  type PanelRow = (typeof rows)[number];
  const plotHeight = height - MARGIN.top - AXIS_HEIGHT;
  const labels = endLabels(panel, scale.max, 15 / plotHeight);

  return (
    <div className="min-w-0">
      <p className="text-sm text-ink-faint">{panel.title}</p>
      <div
        role="img"
        aria-label={describePanel(title, panel, format, xLabel)}
        className="relative mt-1"
        style={{ height }}
      >
        <ResponsiveContainer width="100%" height="100%" initialDimension={{ width: 400, height }}>
          <ComposedChart data={rows} margin={MARGIN} accessibilityLayer={false}>
            <CartesianGrid vertical={false} stroke="var(--line)" />
            <XAxis
              dataKey="x"
              height={AXIS_HEIGHT}
              tickLine={false}
              axisLine={{ stroke: 'var(--line-strong)' }}
              tick={AXIS_TEXT}
              scale="point"
              padding={{ left: POINT_PADDING, right: POINT_PADDING }}
            />
            <YAxis
              width={AXIS_WIDTH}
              domain={[0, scale.max]}
              ticks={[...scale.ticks]}
              tickFormatter={format}
              axisLine={false}
              tickLine={false}
              tick={AXIS_TEXT}
              interval={0}
            />
            {panel.lines.map((line) => (
              <Area
                key={`${line.series} band`}
                dataKey={(row: PanelRow) => {
                  const cell = row.cells[line.series];
                  return cell ? [cell.low, cell.high] : null;
                }}
                stroke="none"
                fill={colors[line.series] ?? 'var(--series-grey)'}
                fillOpacity={0.16}
                isAnimationActive={false}
                activeDot={false}
                connectNulls
              />
            ))}
            {panel.lines.map((line) => (
              <Line
                key={line.series}
                dataKey={(row: PanelRow) => row.cells[line.series]?.middle ?? null}
                stroke={colors[line.series] ?? 'var(--series-grey)'}
                strokeWidth={1.75}
                dot={{ r: 2.5, strokeWidth: 0, fill: colors[line.series] ?? 'var(--series-grey)' }}
                activeDot={false}
                isAnimationActive={false}
                connectNulls
              />
            ))}
          </ComposedChart>
        </ResponsiveContainer>
        <PanelCursor xs={xs} panel={panel} colors={colors} format={format} xLabel={xLabel} height={plotHeight} />
        <div
          className="pointer-events-none absolute right-0"
          style={{ top: MARGIN.top, height: plotHeight, width: LABEL_WIDTH - 2 }}
        >
          {labels.map((label) => (
            <span
              key={label.series}
              className="absolute left-0 -translate-y-1/2 truncate text-xs font-medium"
              style={{
                top: `${label.top * 100}%`,
                color: `color-mix(in oklab, ${colors[label.series] ?? 'var(--series-grey)'} 65%, var(--ink))`,
              }}
            >
              {label.series}
            </span>
          ))}
        </div>
      </div>
      <p aria-hidden="true" className="mt-0.5 pr-16 text-center text-xs text-ink-faint">
        {xLabel}
      </p>
    </div>
  );
}

interface PanelCursorProps {
  readonly xs: readonly number[];
  readonly panel: Panel;
  readonly colors: Readonly<Record<string, string>>;
  readonly format: (value: number) => string;
  readonly xLabel: string;
  readonly height: number;
}

/** Hover values of a panel: those of the point that is nearest to the pointer. The text alternative has all of them. */
function PanelCursor({ xs, panel, colors, format, xLabel, height }: PanelCursorProps) {
  const [index, setIndex] = useState<number | null>(null);
  const last = xs.length - 1;
  const x = index === null ? undefined : xs[index];
  const fraction = index === null || last === 0 ? 0.5 : index / last;
  const follow = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    setIndex(Math.round(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * last));
  };
  return (
    <div
      className="absolute touch-pan-y"
      style={{ top: MARGIN.top, height, left: AXIS_WIDTH + POINT_PADDING, right: MARGIN.right + POINT_PADDING }}
      onPointerMove={follow}
      onPointerDown={follow}
      onPointerLeave={() => setIndex(null)}
    >
      {x === undefined ? null : (
        <>
          <span
            className="pointer-events-none absolute inset-y-0 w-px bg-ink-faint"
            style={{ left: `${fraction * 100}%` }}
          />
          <div
            className="pointer-events-none absolute top-1 z-10 grid w-max grid-cols-[auto_auto] gap-x-3 gap-y-0.5 rounded-control border border-line bg-raised px-2 py-1.5 text-xs shadow-float"
            style={
              fraction > 0.5
                ? { right: `calc(${(1 - fraction) * 100}% + 8px)` }
                : { left: `calc(${fraction * 100}% + 8px)` }
            }
          >
            <span className="col-span-2 text-ink-faint">
              {xLabel} {x}
            </span>
            {panel.lines.map(({ series, cells }) => {
              const cell = cells.find((each) => each.x === x);
              return (
                <Fragment key={series}>
                  <span className="inline-flex items-baseline gap-1.5 text-ink-soft">
                    <span
                      className="h-0.5 w-2.5 -translate-y-1 rounded-full"
                      style={{ background: colors[series] ?? 'var(--series-grey)' }}
                    />
                    {series}
                  </span>
                  <span className="tabular text-right font-mono text-ink">
                    {cell === undefined ? '–' : format(cell.middle)}
                  </span>
                </Fragment>
              );
            })}
          </div>
        </>
      )}
    </div>
  );
}

const AXIS_TEXT = { fill: 'var(--ink-faint)', fontSize: 11, fontFamily: 'var(--font-geist-mono)' } as const;

function describePanel(title: string, panel: Panel, format: (value: number) => string, xLabel: string): string {
  const lines = panel.lines.map((line) => {
    const cells = line.cells.map((cell) => `${format(cell.middle)} at ${cell.x}`).join(', ');
    return `${line.series}: ${cells}`;
  });
  return `${title}, ${panel.title}, by ${xLabel.toLowerCase()}. ${lines.join('. ')}`;
}
