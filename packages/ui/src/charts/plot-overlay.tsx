'use client';
// HTML overlay of a plot: the shared cursor and the deployment markers. Separate from the chart, so that neither
// redraws it.
import { type KeyboardEvent, type PointerEvent, useContext, useMemo } from 'react';
import { cn } from '../lib/class-names.ts';
import type { TimeSpan } from './chart-group.tsx';
import { CursorContext, useCursor } from './cursor.ts';
import { type Marker, type PlacedMarker, placeMarkers } from './prepare/markers.ts';
import { fractionOf } from './prepare/time-series.ts';

/** Plot geometry that the chart and its overlay share, in pixels. */
export const PLOT = {
  axisWidth: 60,
  axisHeight: 22,
  margin: { top: 8, right: 16, bottom: 0, left: 0 },
} as const;

const LABEL_SHARE = 0.14;

export interface PlotOverlayProps {
  readonly span: TimeSpan;
  readonly stepMs: number;
  readonly markers: readonly Marker[];
  readonly label: string;
}

export function PlotOverlay({ span, stepMs, markers, label }: PlotOverlayProps) {
  const cursor = useContext(CursorContext);
  const placed = useMemo(() => placeMarkers(markers, span.from, span.to, LABEL_SHARE), [markers, span.from, span.to]);

  const follow = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const fraction = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    cursor.set(Math.round(span.from + fraction * (span.to - span.from)));
  };
  const step = (event: KeyboardEvent<HTMLElement>) => {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (event.key === 'Escape') cursor.set(null);
    if (by === 0) return;
    event.preventDefault();
    const next = (cursor.read() ?? span.to) + by * stepMs * (event.shiftKey ? 10 : 1);
    cursor.set(Math.min(span.to, Math.max(span.from, next)));
  };

  return (
    <div
      className="absolute"
      style={{ top: PLOT.margin.top, right: PLOT.margin.right, bottom: PLOT.axisHeight, left: PLOT.axisWidth }}
    >
      <div
        role="img"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the cursor
        tabIndex={0}
        onPointerMove={follow}
        onPointerDown={follow}
        onPointerLeave={() => cursor.set(null)}
        onKeyDown={step}
        onBlur={() => cursor.set(null)}
        className="absolute inset-0 touch-pan-y rounded-mark"
      >
        <CursorLine span={span} />
      </div>
      {placed.map((marker) => (
        <MarkerLine key={marker.id} marker={marker} />
      ))}
    </div>
  );
}

function CursorLine({ span }: { readonly span: TimeSpan }) {
  const at = useCursor();
  const fraction = at === null ? null : fractionOf(at, span.from, span.to);
  return fraction === null ? null : (
    <span
      aria-hidden="true"
      className="pointer-events-none absolute inset-y-0 w-px bg-ink-faint"
      style={{ left: `${fraction * 100}%` }}
    />
  );
}

const TONE: Record<PlacedMarker['tone'], string> = {
  ok: 'text-ink-faint',
  bad: 'text-bad-text',
  idle: 'text-ink-faint',
};

function MarkerLine({ marker }: { readonly marker: PlacedMarker }) {
  return (
    <span className={cn('absolute inset-y-0 w-0', TONE[marker.tone])} style={{ left: `${marker.fraction * 100}%` }}>
      <span aria-hidden="true" className="absolute inset-y-0 border-current border-l border-dashed opacity-70" />
      {marker.labelled ? (
        <a
          href={marker.href}
          title={marker.title}
          aria-label={marker.title}
          className={cn(
            'absolute -top-1.5 flex h-4 items-center rounded-mark bg-surface px-1 font-mono text-[11px] hover:text-ink hover:underline',
            marker.flip ? 'right-0.5' : 'left-0.5',
          )}
        >
          {marker.label}
        </a>
      ) : (
        // The marker is too close to its neighbour to be clicked: a dot with a title. The list of deployments links to
        // it.
        <span role="img" aria-label={marker.title} title={marker.title} className="absolute -top-1 -left-1 size-2 p-px">
          <span aria-hidden="true" className="block size-1.5 rounded-full bg-current" />
        </span>
      )}
    </span>
  );
}
