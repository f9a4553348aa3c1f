'use client';
// Search field and filters above a list. On phones the filters fold away behind a button.
import { Button } from '@fairlead/ui/button';
import { FilterMenu } from '@fairlead/ui/filter-menu';
import { useFormats } from '@fairlead/ui/formats';
import { Input } from '@fairlead/ui/input';
import { cn } from '@fairlead/ui/lib/class-names';
import { SearchInput } from '@fairlead/ui/search-input';
import { ListFilter as ListFilterIcon } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { ClearFilters } from './clear-filters.tsx';
import { type ActiveFilter, activeFilters, type DayFilter, type MenuFilter } from './list-filter.ts';

export interface FilterBarProps {
  readonly search: {
    readonly label: string;
    readonly typed: string;
    readonly setTyped: (text: string) => void;
    readonly value: string;
  };
  readonly filters: readonly (MenuFilter | DayFilter)[];
  /** Active filters that have no control in the bar; the bar clears them with its own. */
  readonly others?: readonly ActiveFilter[];
  readonly sort?: MenuFilter;
  /** Controls at the end, such as the choice of columns. */
  readonly children?: ReactNode;
}

export function FilterBar({ search, filters, others = [], sort, children }: FilterBarProps) {
  const [unfolded, setUnfolded] = useState(false);
  const active = activeFilters(search.value, filters);
  const hidden = active.filter(({ name }) => name !== 'search').length;
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <SearchInput
        label={search.label}
        value={search.typed}
        onValueChange={search.setTyped}
        className="max-sm:flex-1 sm:max-w-64"
      />
      {filters.length === 0 ? null : (
        <Button
          aria-expanded={unfolded}
          onClick={() => setUnfolded(!unfolded)}
          icon={<ListFilterIcon size={15} aria-hidden="true" />}
          className="h-9 sm:hidden"
        >
          {hidden === 0 ? 'Filters' : `Filters (${hidden})`}
        </Button>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has no flexible layout in all browsers */}
      <div
        role="group"
        aria-label="Filters"
        className={cn('max-sm:w-full max-sm:flex-col sm:contents', unfolded ? 'flex gap-2' : 'max-sm:hidden')}
      >
        {filters.map((filter) => (filter.kind === 'menu' ? <Menu key={filter.name} filter={filter} /> : null))}
        {/* The two days of a period stay on one line. */}
        <span className="inline-flex flex-wrap gap-2 empty:hidden max-sm:flex-col sm:flex-nowrap">
          {filters.map((filter) => (filter.kind === 'menu' ? null : <DayInput key={filter.name} filter={filter} />))}
        </span>
        {sort === undefined ? null : <Menu filter={sort} className="sm:hidden" />}
      </div>
      <ClearFilters active={[...others, ...active]} />
      <div className="ml-auto flex items-center gap-2 max-sm:hidden">
        {sort === undefined ? null : <Menu filter={sort} />}
        {children}
      </div>
    </div>
  );
}

function Menu({ filter, className }: { readonly filter: MenuFilter; readonly className?: string }) {
  const { label, all, value, text, options, set, onSearch, onOpen } = filter;
  return (
    <FilterMenu
      label={label}
      all={all}
      value={value}
      text={text}
      options={options}
      onValueChange={set}
      onSearch={onSearch}
      onOpen={onOpen}
      {...(className === undefined ? {} : { className })}
    />
  );
}

function DayInput({ filter: { label, value, set } }: { readonly filter: DayFilter }) {
  const { timeZone } = useFormats();
  return (
    <span className="inline-flex min-w-0 items-center gap-1.5 text-ink-faint max-sm:justify-between">
      <span aria-hidden="true" className="max-sm:w-12">
        {label}
      </span>
      <Input
        type="date"
        aria-label={`${label} (day)`}
        title={`Days in ${timeZone}`}
        value={value}
        onChange={(event) => set(event.target.value)}
        className="min-w-0 max-sm:flex-1 sm:w-auto"
      />
    </span>
  );
}
