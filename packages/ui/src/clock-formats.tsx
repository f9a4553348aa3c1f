'use client';
// Formats of the times in charts and logs. Apart from other formats, so that pages without either do not load them.
import { useViewer, type Viewer } from './formats.tsx';
import { type ClockFormats, clockFormats } from './lib/clock-format.ts';

const known = new WeakMap<Viewer, ClockFormats>();

export function useClockFormats(): ClockFormats {
  const viewer = useViewer();
  let formats = known.get(viewer);
  if (formats === undefined) {
    formats = clockFormats(viewer.locale, viewer.timeZone);
    known.set(viewer, formats);
  }
  return formats;
}
