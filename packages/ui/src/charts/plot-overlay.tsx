'use client';
// HTML overlay of a plot: the shared cursor, the selection of a zoom and the deployment markers. Separate from the chart,
// so that none of them redraws it.
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { cn } from '../lib/class-names.ts';
import { type TimeSpan, useChartGroup } from './chart-group.tsx';
import { CursorContext, useCursor } from './cursor.ts';
import { type PlacedMarker, placeMarkers } from './prepare/markers.ts';
import { fractionOf, zoomed } from './prepare/time-series.ts';

/** Plot geometry that the chart and its overlay share, in pixels. */
export const PLOT = {
  axisWidth: 60,
  axisHeight: 22,
  margin: { top: 8, right: 16, bottom: 0, left: 0 },
} as const;

/** Width of a label with seven characters and a gap, in pixels. */
const LABEL_WIDTH = 62;
/** A shorter movement is a click. */
const DRAG_MIN_PX = 8;
const ZOOM_STEP = 2;

export interface PlotOverlayProps {
  /** Text alternative of the plot. */
  readonly label: string;
  /** Values at the cursor; null outside of the data. */
  readonly readout: (at: number) => ReactNode;
}

export function PlotOverlay({ label, readout }: PlotOverlayProps) {
  const { span, stepMs, markers, onZoom } = useChartGroup();
  const cursor = useContext(CursorContext);
  const plot = useRef<HTMLDivElement>(null);
  const width = useWidth(plot);
  const placed = useMemo(
    () => placeMarkers(markers, span.from, span.to, LABEL_WIDTH / width),
    [markers, span.from, span.to, width],
  );
  const [dragFrom, setDragFrom] = useState<number | null>(null);

  const timeAt = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const fraction = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return Math.round(span.from + fraction * (span.to - span.from));
  };
  const press = (event: PointerEvent<HTMLElement>) => {
    cursor.set(timeAt(event));
    // A finger reads values by dragging.
    if (onZoom === undefined || event.pointerType === 'touch' || event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setDragFrom(timeAt(event));
  };
  const release = (event: PointerEvent<HTMLElement>) => {
    if (dragFrom === null) return;
    setDragFrom(null);
    const at = timeAt(event);
    const dragged = (Math.abs(at - dragFrom) / (span.to - span.from)) * width;
    if (dragged < DRAG_MIN_PX) return;
    cursor.set(null);
    onZoom?.({ from: Math.min(dragFrom, at), to: Math.max(dragFrom, at) });
  };
  const pressKey = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === 'Escape') {
      cursor.set(null);
      setDragFrom(null);
    }
    const at = cursor.read() ?? span.to;
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (by !== 0) {
      event.preventDefault();
      const next = at + by * stepMs * (event.shiftKey ? 10 : 1);
      cursor.set(Math.min(span.to, Math.max(span.from, next)));
    }
    const factor = event.key === '+' ? 1 / ZOOM_STEP : event.key === '-' ? ZOOM_STEP : null;
    if (factor === null || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onZoom?.(zoomed(span, at, factor, Date.now()));
  };

  return (
    <div
      className="absolute"
      style={{ top: PLOT.margin.top, right: PLOT.margin.right, bottom: PLOT.axisHeight, left: PLOT.axisWidth }}
    >
      <div
        ref={plot}
        role="img"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the cursor
        tabIndex={0}
        onPointerMove={(event) => cursor.set(timeAt(event))}
        onPointerDown={press}
        onPointerUp={release}
        onPointerCancel={() => setDragFrom(null)}
        onPointerLeave={() => cursor.set(null)}
        onKeyDown={pressKey}
        onBlur={() => cursor.set(null)}
        className={cn('absolute inset-0 touch-pan-y select-none rounded-mark', onZoom && 'cursor-crosshair')}
      >
        <Cursor span={span} dragFrom={dragFrom} />
      </div>
      {placed.map((marker) => (
        <MarkerLine key={marker.id} marker={marker} />
      ))}
      <Readout span={span}>{readout}</Readout>
    </div>
  );
}

function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(400);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(1, entry?.contentRect.width ?? 1)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

function Cursor({ span, dragFrom }: { readonly span: TimeSpan; readonly dragFrom: number | null }) {
  const at = useCursor();
  const fraction = at === null ? null : fractionOf(at, span.from, span.to);
  if (fraction === null) return null;
  const start = dragFrom === null ? null : fractionOf(dragFrom, span.from, span.to);
  return (
    <>
      {start === null ? null : (
        <span
          aria-hidden="true"
          className="pointer-events-none absolute inset-y-0 bg-pressed"
          style={{ left: `${Math.min(start, fraction) * 100}%`, width: `${Math.abs(start - fraction) * 100}%` }}
        />
      )}
      <span
        aria-hidden="true"
        className="pointer-events-none absolute inset-y-0 w-px bg-ink-faint"
        style={{ left: `${fraction * 100}%` }}
      />
    </>
  );
}

/** Box with the values at the cursor, beside its line. */
function Readout({ span, children }: { readonly span: TimeSpan; readonly children: (at: number) => ReactNode }) {
  const at = useCursor();
  const fraction = at === null ? null : fractionOf(at, span.from, span.to);
  if (at === null || fraction === null) return null;
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute top-3 z-10 w-max rounded-control border border-line bg-raised px-2 py-1.5 shadow-float"
      style={
        fraction > 0.5 ? { right: `calc(${(1 - fraction) * 100}% + 8px)` } : { left: `calc(${fraction * 100}% + 8px)` }
      }
    >
      {children(at)}
    </div>
  );
}

const TONE: Record<PlacedMarker['tone'], string> = {
  ok: 'text-ink-faint',
  bad: 'text-bad-text',
  idle: 'text-ink-faint',
};

function MarkerLine({ marker }: { readonly marker: PlacedMarker }) {
  return (
    <span
      className={cn('pointer-events-none absolute inset-y-0 w-0', TONE[marker.tone])}
      style={{ left: `${marker.fraction * 100}%` }}
    >
      <span aria-hidden="true" className="absolute inset-y-0 border-current border-l border-dashed opacity-70" />
      {marker.labelled ? (
        <a
          href={marker.href}
          title={marker.title}
          aria-label={marker.title}
          className={cn(
            'pointer-events-auto absolute -top-1.5 flex h-4 items-center rounded-mark bg-surface px-1 font-mono text-[11px] hover:text-ink hover:underline',
            marker.flip ? 'right-0.5' : 'left-0.5',
          )}
        >
          {marker.label}
        </a>
      ) : (
        // The marker is too close to its neighbour to be clicked: a dot on the axis, away from the labels. The list of
        // deployments links to it.
        <span
          role="img"
          aria-label={marker.title}
          title={marker.title}
          className="pointer-events-auto absolute -bottom-1 -left-1 size-2 p-px"
        >
          <span aria-hidden="true" className="block size-1.5 rounded-full bg-current" />
        </span>
      )}
    </span>
  );
}
