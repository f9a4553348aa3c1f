'use client';
// Footer of a list: number of rows, and the next page.
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { LoadMore, type LoadMoreProps } from '../page/load-more.tsx';

/** Counts of the API stop there. */
const COUNT_MAX = 100_000;

export interface ListFooterProps {
  readonly query: LoadMoreProps['query'];
  /** Rows that are shown. */
  readonly shown: number;
  /** Rows that match; null if the API did not count. */
  readonly total: number | null;
  /** Singular and plural: app, apps. */
  readonly noun: readonly [one: string, many: string];
}

export function ListFooter({ query, shown, total, noun }: ListFooterProps) {
  return (
    <>
      <LoadMore query={query} />
      <p className="border-line border-t px-4 py-2.5 text-sm text-ink-faint tabular" role="status">
        {countText(shown, total, noun, useFormats())}
      </p>
    </>
  );
}

function countText(
  shown: number,
  total: number | null,
  [one, many]: ListFooterProps['noun'],
  { formatInteger }: Formats,
): string {
  const all = Math.max(shown, total ?? 0);
  const text = all >= COUNT_MAX ? `${formatInteger(COUNT_MAX)}+` : formatInteger(all);
  const noun = all === 1 ? one : many;
  return shown === all ? `${text} ${noun}` : `${formatInteger(shown)} of ${text} ${noun}`;
}
