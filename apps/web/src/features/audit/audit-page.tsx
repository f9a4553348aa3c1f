'use client';
// Audit log, newest first: filters in the URL, details in a dialog, and a check of the hash chain.
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { useFormats } from '@fairlead/ui/formats';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Download, ScrollText } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { FilterBar } from '../../common/list/filter-bar.tsx';
import { activeFilters, useDayFilter, useMenuFilter } from '../../common/list/list-filter.ts';
import { ListFooter } from '../../common/list/list-footer.tsx';
import { NoMatches } from '../../common/list/no-matches.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlSearch } from '../../common/page/use-url-state.ts';
import { AuditRows } from './audit-rows.tsx';
import { ChainCheck } from './chain-check.tsx';
import { EventDialog } from './event-dialog.tsx';
import { exportHref, FEATURES, toInput } from './filter.ts';

const KINDS = [
  { value: 'member', label: 'People' },
  { value: 'token', label: 'API tokens' },
  { value: 'agent', label: 'Servers' },
  { value: 'system', label: 'System' },
] as const;

export function AuditPage() {
  const { organization, paths, can } = useMe();
  const trpc = useTRPC();
  const members = useQuery({ ...trpc.member.list.queryOptions(), enabled: can('member.read') }).data?.items ?? [];
  const search = { ...useUrlSearch(), label: 'Search by name' };
  const action = useMenuFilter('action', {
    label: 'Action',
    all: 'All actions',
    options: FEATURES.map(([value, label]) => ({ value, label })),
  });
  const actor = useMenuFilter('actor', {
    label: 'Actor',
    all: 'All actors',
    unknown: 'Former member',
    options: [...KINDS, ...members.map(({ userId, name, email }) => ({ value: userId, label: name, hint: email }))],
  });
  const from = useDayFilter('from', 'From');
  const to = useDayFilter('to', 'To');
  const filters = [action, actor, from, to];
  const active = activeFilters(search.value, filters);
  const [openId, setOpenId] = useState<string | null>(null);
  const values = { search: search.value, action: action.value, actor: actor.value, from: from.value, to: to.value };
  const input = toInput(values, useFormats().timeZone);
  const events = useInfiniteQuery({
    ...trpc.audit.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    placeholderData: keepPreviousData,
  });
  const open = events.data?.pages.flatMap((page) => page.items).find(({ id }) => id === openId);
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />}
        title="Audit log"
        actions={(['csv', 'ndjson'] as const).map((format) => (
          <a key={format} href={exportHref(organization.slug, format, input)} download className={buttonClass()}>
            <Download size={15} aria-hidden="true" />
            {format === 'csv' ? 'CSV' : 'NDJSON'}
          </a>
        ))}
      />
      <ChainCheck />
      <FilterBar search={search} filters={filters} />
      <Card>
        <QueryView query={events} skeleton={<SkeletonRows rows={10} />}>
          {(data) => {
            const items = data.pages.flatMap((page) => page.items);
            if (items.length > 0) {
              return (
                <>
                  <AuditRows events={items} onOpen={setOpenId} />
                  <ListFooter
                    query={events}
                    shown={items.length}
                    total={data.pages[0]?.total ?? null}
                    noun={['event', 'events']}
                  />
                </>
              );
            }
            return active.length > 0 ? (
              <NoMatches noun="events" active={active} />
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
