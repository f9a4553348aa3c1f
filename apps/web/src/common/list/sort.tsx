'use client';
// Sort order of a list in its URL: column heads that sort, and the same choice as a menu for phones.
import { cn } from '@fairlead/ui/lib/class-names';
import { HeadCell } from '@fairlead/ui/table';
import { useUrlFilter } from '../page/use-url-state.ts';
import type { MenuFilter } from './list-filter.ts';
import { type SortInput, sortInput } from './list-input.ts';

const SORT = 'sort';

export interface ListSort<Sort extends string> {
  /** Current order; its direction is always set. */
  readonly sort: Sort;
  readonly direction: 'asc' | 'desc';
  readonly input: SortInput<Sort>;
  /** Sorts by the column; a second time in the other direction. */
  readonly toggle: (sort: Sort) => void;
  readonly menu: MenuFilter;
}

export interface SortOptions<Sort extends string> {
  /** The first is the default. */
  readonly sorts: readonly (readonly [sort: Sort, label: string])[];
  /** Sorts whose natural direction is ascending. */
  readonly ascending: readonly Sort[];
}

export function useListSort<Sort extends string>({ sorts, ascending }: SortOptions<Sort>): ListSort<Sort> {
  const { value, set } = useUrlFilter(SORT);
  const names = sorts.map(([name]) => name);
  const input = sortInput(value, names);
  const [first] = sorts;
  if (first === undefined) throw new RangeError('a list needs a sort order');
  const sort = input.sort ?? first[0];
  const natural = (name: Sort) => (ascending.includes(name) ? 'asc' : 'desc');
  const direction = input.order ?? natural(sort);
  const put = (name: Sort, wanted: 'asc' | 'desc') => {
    const text = wanted === natural(name) ? name : `${name}.${wanted}`;
    set(text === first[0] ? '' : text);
  };
  const label = sorts.find(([name]) => name === sort)?.[1] ?? sort;
  return {
    sort,
    direction,
    input,
    toggle: (name) => {
      const other = direction === 'asc' ? 'desc' : 'asc';
      put(name, name === sort ? other : natural(name));
    },
    menu: {
      kind: 'menu',
      name: SORT,
      label: 'Sort',
      all: first[1],
      value: sort === first[0] ? '' : sort,
      text: label,
      options: sorts.slice(1).map(([name, text]) => ({ value: name, label: text })),
      set,
    },
  };
}

export interface SortHeadProps<Sort extends string> {
  readonly by: Sort;
  readonly list: Pick<ListSort<Sort>, 'sort' | 'direction' | 'toggle'>;
  readonly numeric?: boolean;
  readonly className?: string;
  readonly children: string;
}

export function SortHead<Sort extends string>({ by, list, numeric, className, children }: SortHeadProps<Sort>) {
  const isCurrent = list.sort === by;
  return (
    <HeadCell
      {...(numeric === undefined ? {} : { numeric })}
      {...(className === undefined ? {} : { className })}
      aria-sort={isCurrent ? (list.direction === 'asc' ? 'ascending' : 'descending') : 'none'}
    >
      <button
        type="button"
        onClick={() => list.toggle(by)}
        className={cn(
          'inline-flex items-center gap-1 rounded-mark font-medium hover:text-ink aria-[current]:text-ink',
          // The label then ends where the figures do.
          numeric === true && 'flex-row-reverse',
        )}
        aria-current={isCurrent ? 'true' : undefined}
      >
        {children}
        <span aria-hidden="true" className="w-2.5 text-center text-xs">
          {isCurrent ? (list.direction === 'asc' ? '↑' : '↓') : ''}
        </span>
      </button>
    </HeadCell>
  );
}
