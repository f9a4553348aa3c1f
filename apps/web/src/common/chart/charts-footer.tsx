'use client';
// Line below charts: the time zone of their axis, and how to zoom.
import { useFormats } from '@fairlead/ui/formats';
import { zoneOffset } from '@fairlead/ui/lib/time-zone';

export function ChartsFooter({ at }: { readonly at: number }) {
  const { timeZone } = useFormats();
  const offset = zoneOffset(at, timeZone);
  return (
    <p className="px-4 pb-3 text-ink-faint text-xs">
      Times in {offset === 'UTC' ? timeZone : `${timeZone} (${offset})`}
      <span className="max-sm:hidden">. Drag over a chart to zoom.</span>
    </p>
  );
}
