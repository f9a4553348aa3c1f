'use client';
// Filter of a list that shows one group of the overview, and the note above the list that removes it.
import { titleOfKind } from '@fairlead/core/attention/rules';
import { X } from 'lucide-react';
import { usePathname, useSearchParams } from 'next/navigation';
import type { ActiveFilter } from '../list/list-filter.ts';
import { HoverLink } from '../page/hover-link.tsx';
import { useUrlParams } from '../page/use-url-state.ts';
import { ATTENTION_FILTER, attentionInput, CAUSE_FILTER } from './attention-input.ts';

export interface AttentionFilter {
  readonly input: ReturnType<typeof attentionInput>;
  readonly active: readonly ActiveFilter[];
}

export function useAttentionFilter(): AttentionFilter {
  const params = useUrlParams();
  const input = attentionInput((name) => params.get(name) ?? '');
  if (input.attention === undefined) return { input, active: [] };
  const { kind, cause } = input.attention;
  const active = [{ name: ATTENTION_FILTER, label: 'Needs attention', text: titleOfKind(kind) }];
  if (cause !== undefined) active.push({ name: CAUSE_FILTER, label: 'Cause', text: wordsOf(cause) });
  return { input, active };
}

/** Shows nothing without the filter. */
export function AttentionFilterNote() {
  const pathname = usePathname();
  const params = useSearchParams();
  const { attention } = useAttentionFilter().input;
  if (attention === undefined) return null;
  const rest = new URLSearchParams(params);
  rest.delete(ATTENTION_FILTER);
  rest.delete(CAUSE_FILTER);
  return (
    <p className="mb-4 flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
      <span className="text-ink-faint">Needs attention:</span>
      <HoverLink
        href={rest.size === 0 ? pathname : `${pathname}?${rest}`}
        aria-label={`${titleOfKind(attention.kind)}. Remove filter`}
        className="inline-flex h-7 items-center gap-1.5 rounded-full border border-line-strong bg-surface px-2.5 font-medium text-ink hover:bg-sunken"
      >
        {titleOfKind(attention.kind)}
        {attention.cause === undefined ? null : <span className="text-ink-faint">{wordsOf(attention.cause)}</span>}
        <X size={13} aria-hidden="true" className="text-ink-faint" />
      </HoverLink>
    </p>
  );
}

/** Returns "command failed" for the code build.command_failed. */
function wordsOf(code: string): string {
  return (code.split('.').at(-1) ?? '').replaceAll('_', ' ');
}
