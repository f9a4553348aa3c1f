'use client';
// The changes of a form before they are saved: field, saved value, new value, and what needs a deployment.
import { useFormats } from '@fairlead/ui/formats';
import { ChevronRight } from 'lucide-react';
import type { ChangeLine } from './changes.ts';

export function ChangeList({ lines }: { readonly lines: readonly ChangeLine[] }) {
  const { plural } = useFormats();
  return (
    <details className="group basis-full">
      <summary className="flex w-fit cursor-pointer list-none items-center gap-1.5 rounded-mark font-medium text-sm hover:text-ink [&::-webkit-details-marker]:hidden">
        <ChevronRight
          size={14}
          aria-hidden="true"
          className="transition-transform duration-120 group-open:rotate-90 motion-reduce:transition-none"
        />
        Show {plural(lines.length, 'change')}
      </summary>
      <dl className="mt-2 max-h-60 overflow-y-auto rounded-control border border-line bg-surface">
        {lines.map(({ path, label, before, after, effect }) => (
          <div
            key={path}
            className="grid gap-x-4 gap-y-0.5 border-line border-t px-3 py-2 text-sm first:border-t-0 sm:grid-cols-[11rem_minmax(0,1fr)_auto]"
          >
            <dt className="text-ink-soft">{label}</dt>
            <dd className="wrap-anywhere min-w-0 font-mono">
              <span className="sr-only">from </span>
              <span className="text-ink-faint line-through">{before}</span> <span aria-hidden="true">→</span>
              <span className="sr-only">to </span> {after}
            </dd>
            <dd className="text-ink-faint">{effect === 'now' ? 'Applies now' : 'Needs a deployment'}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
