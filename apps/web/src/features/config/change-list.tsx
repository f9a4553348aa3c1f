'use client';
// The changes of a form before they are saved: field, saved value, new value, live value, and what needs a deployment.
import { useFormats } from '@fairlead/ui/formats';
import { ChevronRight } from 'lucide-react';
import type { Settings } from '../../api/types.ts';
import { ChangeRows } from './change-rows.tsx';
import { type ChangeLine, notLiveLines } from './changes.ts';

interface ChangeListProps {
  readonly lines: readonly ChangeLine[];
  readonly saved: Settings;
  /** Settings in effect; null if nothing is live. */
  readonly live: Settings | null;
}

export function ChangeList({ lines, saved, live }: ChangeListProps) {
  const formats = useFormats();
  const liveValues = new Map(notLiveLines(live, saved, formats).map(({ path, before }) => [path, before]));
  return (
    <details className="group basis-full">
      <summary className="flex w-fit cursor-pointer list-none items-center gap-1.5 rounded-mark font-medium text-sm hover:text-ink [&::-webkit-details-marker]:hidden">
        <ChevronRight
          size={14}
          aria-hidden="true"
          className="transition-transform duration-120 group-open:rotate-90 motion-reduce:transition-none"
        />
        Show {formats.plural(lines.length, 'change')}
      </summary>
      <div className="mt-2">
        <ChangeRows
          rows={lines.map(({ effect, ...line }) => ({
            ...line,
            live: liveValues.get(line.path),
            note: effect === 'now' ? 'Applies now' : 'Needs a deployment',
          }))}
        />
      </div>
    </details>
  );
}
