// Rows of changed settings: field, value before, value after, and a note such as when the change applies.
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';

export interface ChangeRow {
  readonly path: string;
  readonly label: string;
  readonly before: string;
  readonly after: string;
  /** Value of the live release, where it is neither of the two. */
  readonly live?: string | undefined;
  readonly note?: ReactNode;
}

export function ChangeRows({ rows }: { readonly rows: readonly ChangeRow[] }) {
  return (
    <dl className="max-h-60 overflow-y-auto rounded-control border border-line bg-surface">
      {rows.map(({ path, label, before, after, live, note }) => (
        <div
          key={path}
          className="grid gap-x-4 gap-y-0.5 border-line border-t px-3 py-2 text-sm first:border-t-0 sm:grid-cols-[11rem_minmax(0,1fr)_auto]"
        >
          <dt className="text-ink-soft">{label}</dt>
          <dd className="wrap-anywhere min-w-0 font-mono">
            <span className="sr-only">from </span>
            <span className="text-ink-faint line-through">{before}</span> <span aria-hidden="true">→</span>
            <span className="sr-only">to </span> {after}
            {live === undefined ? null : <span className="block text-ink-faint">Live: {live}</span>}
          </dd>
          {note === undefined ? null : <dd className="text-ink-faint">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

interface FoldedChangesProps {
  readonly summary: string;
  readonly rows: readonly ChangeRow[];
}

/** Rows that open below their summary. */
export function FoldedChanges({ summary, rows }: FoldedChangesProps) {
  return (
    <details className="group basis-full">
      <summary className="flex w-fit cursor-pointer list-none items-center gap-1.5 rounded-mark font-medium text-sm hover:text-ink [&::-webkit-details-marker]:hidden">
        <ChevronRight
          size={14}
          aria-hidden="true"
          className="transition-transform duration-120 group-open:rotate-90 motion-reduce:transition-none"
        />
        {summary}
      </summary>
      <div className="mt-2">
        <ChangeRows rows={rows} />
      </div>
    </details>
  );
}
