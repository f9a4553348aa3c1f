'use client';
// Line below charts: the time zone of their axis, and how to zoom.
import { zoneName } from './local-input.ts';

export function ChartsFooter({ at }: { readonly at: number }) {
  return (
    <p className="px-4 pb-3 text-ink-faint text-xs">
      Times in {zoneName(new Date(at))}
      <span className="max-sm:hidden">. Drag over a chart to zoom.</span>
    </p>
  );
}
