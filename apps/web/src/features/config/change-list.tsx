'use client';
// The changes of a form before they are saved: field, saved value, new value, live value, and what needs a deployment.
import { useFormats } from '@fairlead/ui/formats';
import type { Settings } from '../../api/types.ts';
import { FoldedChanges } from './change-rows.tsx';
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
    <FoldedChanges
      summary={`Show ${formats.plural(lines.length, 'change')}`}
      rows={lines.map(({ effect, ...line }) => ({
        ...line,
        live: liveValues.get(line.path),
        note: effect === 'now' ? 'Applies now' : 'Needs a deployment',
      }))}
    />
  );
}
