'use client';
// Charts of one time span with a shared axis, cursor, zoom and deployment markers.
import { createContext, type ReactNode, useContext, useState } from 'react';
import { useFormats } from '../formats.tsx';
import { zoneOffsetMs as offsetMs } from '../lib/time-zone.ts';
import { CursorContext, createCursorStore } from './cursor.ts';
import type { Marker } from './prepare/markers.ts';

export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

interface Group {
  readonly span: TimeSpan;
  readonly stepMs: number;
  readonly markers: readonly Marker[];
  /** Offset of the viewer's time zone from UTC in milliseconds. */
  readonly zoneOffsetMs: number;
  readonly onZoom: ((span: TimeSpan) => void) | undefined;
}

const GroupContext = createContext<Group>({
  span: { from: 0, to: 1 },
  stepMs: 1000,
  markers: [],
  zoneOffsetMs: 0,
  onZoom: undefined,
});

export interface ChartGroupProps {
  readonly span: TimeSpan;
  readonly stepMs: number;
  readonly markers?: readonly Marker[];
  /** Receives the part of the span that the viewer selects. */
  readonly onZoom?: (span: TimeSpan) => void;
  readonly children: ReactNode;
}

const NO_MARKERS: readonly Marker[] = [];

export function ChartGroup({ span, stepMs, markers = NO_MARKERS, onZoom, children }: ChartGroupProps) {
  const [cursor] = useState(createCursorStore);
  const zoneOffsetMs = offsetMs(span.to, useFormats().timeZone);
  return (
    <CursorContext value={cursor}>
      <GroupContext value={{ span, stepMs, markers, zoneOffsetMs, onZoom }}>{children}</GroupContext>
    </CursorContext>
  );
}

export function useChartGroup(): Group {
  return useContext(GroupContext);
}
