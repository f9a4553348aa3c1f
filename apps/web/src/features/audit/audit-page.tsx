'use client';
// Audit log, newest first: filters in the URL, details in a dialog, and a check of the hash chain.
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Input, Select } from '@fairlead/ui/input';
import { PageHeader } from '@fairlead/ui/page-header';
import { SearchInput } from '@fairlead/ui/search-input';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Download, ScrollText } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter, useUrlSearch } from '../../common/page/use-url-state.ts';
import { AuditRows } from './audit-rows.tsx';
import { ChainCheck } from './chain-check.tsx';
import { EventDialog } from './event-dialog.tsx';
import { exportHref, FEATURES, isFiltered, toInput } from './filter.ts';

const ACTORS = [
  ['member', 'People'],
  ['token', 'API tokens'],
  ['agent', 'Servers'],
  ['system', 'System'],
] as const;

export function AuditPage() {
  const { organization, paths } = useMe();
  const trpc = useTRPC();
  const search = useUrlSearch();
  const action = useUrlFilter('action');
  const actor = useUrlFilter('actor');
  const from = useUrlFilter('from');
  const to = useUrlFilter('to');
  const [openId, setOpenId] = useState<string | null>(null);
  const values = { search: search.value, action: action.value, actor: actor.value, from: from.value, to: to.value };
  const events = useInfiniteQuery({
    ...trpc.audit.list.infiniteQueryOptions(toInput(values), { getNextPageParam: (page) => page.nextCursor }),
    placeholderData: keepPreviousData,
  });
  const open = events.data?.pages.flatMap((page) => page.items).find(({ id }) => id === openId);
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />}
        title="Audit log"
        actions={(['csv', 'ndjson'] as const).map((format) => (
          <a key={format} href={exportHref(organization.slug, format, values)} download className={buttonClass()}>
            <Download size={15} aria-hidden="true" />
            {format === 'csv' ? 'CSV' : 'NDJSON'}
          </a>
        ))}
      />
      <ChainCheck />
      <div className="mb-4 grid grid-cols-2 items-center gap-2 sm:flex sm:flex-wrap">
        <SearchInput
          label="Search by name"
          value={search.typed}
          onValueChange={search.setTyped}
          className="max-sm:col-span-2 sm:max-w-64"
        />
        <FilterSelect label="Action" all="All actions" options={FEATURES} filter={action} />
        <FilterSelect label="Actor" all="All actors" options={ACTORS} filter={actor} />
        <DayInput label="From" filter={from} />
        <DayInput label="To" filter={to} />
      </div>
      <Card>
        <QueryView query={events} skeleton={<SkeletonRows rows={10} />}>
          {(data) => {
            const items = data.pages.flatMap((page) => page.items);
            if (items.length > 0) {
              return (
                <>
                  <AuditRows events={items} onOpen={setOpenId} />
                  <LoadMore query={events} />
                </>
              );
            }
            return isFiltered(values) ? (
              <EmptyState title="No results">Remove a filter.</EmptyState>
            ) : (
              <EmptyState icon={<ScrollText size={20} />} title="No events yet">
                Every change is recorded here with its author. Events can't be altered later.
              </EmptyState>
            );
          }}
        </QueryView>
      </Card>
      {open === undefined ? null : <EventDialog event={open} onClose={() => setOpenId(null)} />}
    </Page>
  );
}

interface Filter {
  readonly value: string;
  readonly set: (value: string) => void;
}

interface FilterSelectProps {
  readonly label: string;
  readonly all: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly filter: Filter;
}

function FilterSelect({ label, all, options, filter }: FilterSelectProps) {
  return (
    <Select
      aria-label={label}
      value={filter.value}
      onChange={(event) => filter.set(event.target.value)}
      className="sm:w-auto"
    >
      <option value="">{all}</option>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </Select>
  );
}

function DayInput({ label, filter }: { readonly label: string; readonly filter: Filter }) {
  return (
    <span className="inline-flex min-w-0 gap-1.5 text-ink-faint text-sm max-sm:flex-col sm:items-center">
      <span aria-hidden="true">{label}</span>
      <Input
        type="date"
        aria-label={`${label} (day, UTC)`}
        value={filter.value}
        onChange={(event) => filter.set(event.target.value)}
        className="min-w-0 sm:w-auto"
      />
    </span>
  );
}
