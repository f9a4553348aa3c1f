'use client';
// Link that removes all active filters of a list from the URL, in one step.
import { buttonClass } from '@fairlead/ui/button';
import NextLink from 'next/link';
import { usePathname, useSearchParams } from 'next/navigation';
import type { ActiveFilter } from './list-filter.ts';

export function ClearFilters({ active }: { readonly active: readonly ActiveFilter[] }) {
  const pathname = usePathname();
  const params = useSearchParams();
  if (active.length === 0) return null;
  const kept = new URLSearchParams(params);
  for (const { name } of active) kept.delete(name);
  const query = kept.toString();
  return (
    <NextLink
      href={query === '' ? pathname : `${pathname}?${query}`}
      replace
      scroll={false}
      prefetch={false}
      className={buttonClass('ghost')}
    >
      Clear filters
    </NextLink>
  );
}
