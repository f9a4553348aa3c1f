'use client';
// Filters of a list: each is bound to the URL and knows the text of its value.
import type { FilterOption } from '@fairlead/ui/filter-menu';
import { useFormats } from '@fairlead/ui/formats';
import { useUrlFilter } from '../page/use-url-state.ts';
import { startOfDay } from './day.ts';

export interface ListFilter {
  readonly kind: 'menu' | 'day';
  /** Name in the URL. */
  readonly name: string;
  readonly label: string;
  /** Empty: no filter. */
  readonly value: string;
  /** Text of the value. */
  readonly text: string;
  readonly set: (value: string) => void;
}

export interface MenuFilter extends ListFilter {
  readonly kind: 'menu';
  /** Text of the option that filters nothing. */
  readonly all: string;
  readonly options: readonly FilterOption[];
  readonly onSearch?: (text: string) => void;
  readonly onOpen?: () => void;
}

export interface DayFilter extends ListFilter {
  readonly kind: 'day';
}

export interface MenuFilterOptions {
  readonly label: string;
  readonly all: string;
  readonly options: readonly FilterOption[];
  /** Text of a value that is not among the options. */
  readonly unknown?: string;
}

export function useMenuFilter(name: string, { label, all, options, unknown }: MenuFilterOptions): MenuFilter {
  const { value, set } = useUrlFilter(name);
  const option = options.find((each) => each.value === value);
  const text = value === '' ? all : (option?.label ?? unknown ?? value);
  return { kind: 'menu', name, label, all, value, text, options, set };
}

export function useDayFilter(name: string, label: string): DayFilter {
  const { value, set } = useUrlFilter(name);
  const { formatDay, timeZone } = useFormats();
  const start = startOfDay(value, timeZone);
  return { kind: 'day', name, label, value, text: start === null ? value : formatDay(start), set };
}

export interface ActiveFilter {
  readonly name: string;
  readonly label: string;
  readonly text: string;
}

/** Returns the filters that hide rows, the search first. */
export function activeFilters(search: string, filters: readonly ListFilter[]): ActiveFilter[] {
  const active = filters.filter(({ value }) => value !== '');
  return [
    ...(search === '' ? [] : [{ name: 'search', label: 'Search', text: `“${search}”` }]),
    ...active.map(({ name, label, text }) => ({ name, label, text })),
  ];
}
