'use client';
// Lists servers with live gauges, with filters and the sort order in the URL, which can also open the dialog that adds one.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Plus, Server } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { AttentionFilterNote, useAttentionFilter } from '../../common/attention/attention-filter.tsx';
import { serverLook } from '../../common/deployment/states.ts';
import { ColumnMenu, useColumns } from '../../common/list/columns.tsx';
import { FilterBar } from '../../common/list/filter-bar.tsx';
import { activeFilters, useMenuFilter } from '../../common/list/list-filter.ts';
import { ListFooter } from '../../common/list/list-footer.tsx';
import { NoMatches } from '../../common/list/no-matches.tsx';
import { useListSort } from '../../common/list/sort.tsx';
import { useChosenProject } from '../../common/list/thing-filters.ts';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter, useUrlSearch } from '../../common/page/use-url-state.ts';
import { useProjectFilter } from '../../common/project/project-filter.ts';
import { ProjectSwitcher } from '../../common/project/project-switcher.tsx';
import { AgentRolloutNote } from './agent-rollout-note.tsx';
import { DRAINED, type ServerFilterName, serverInput, serverSorts, serverStates } from './filter.ts';
import { AddServerDialog } from './server-dialogs.ts';
import { type ServerColumn, ServerTable, serverColumns } from './server-table.tsx';

const STATES = [
  ...serverStates.map((state) => ({ value: state, label: serverLook[state].label })),
  { value: DRAINED, label: 'Drained' },
];

export function ServerListPage() {
  const { can } = useMe();
  const adding = useUrlFilter('add');
  const canAdd = can('server.enrol');
  const add = canAdd ? (
    <Button variant="accent" icon={<Plus size={16} aria-hidden="true" />} onClick={() => adding.set('1')}>
      Add server
    </Button>
  ) : null;
  return (
    <OrganizationLive>
      <Page>
        <PageHeader title="Servers" pill={<ProjectSwitcher />} actions={add} />
        <AgentRolloutNote />
        <ServerList add={add} />
      </Page>
      {canAdd && adding.value !== '' ? <AddServerDialog open onClose={() => adding.set('')} /> : null}
    </OrganizationLive>
  );
}

function ServerList({ add }: { readonly add: ReactNode }) {
  const search = { ...useUrlSearch(), label: 'Search servers' };
  const project = useProjectFilter();
  const state = useMenuFilter('state', { label: 'State', all: 'All states', options: STATES });
  const sort = useListSort({ sorts: serverSorts, ascending: ['state', 'name'] });
  const columns = useColumns<ServerColumn>('servers', serverColumns);
  const attention = useAttentionFilter();
  const active = [...useChosenProject(), ...attention.active, ...activeFilters(search.value, [state])];
  const values: Partial<Record<ServerFilterName, string>> = { search: search.value, state: state.value };
  const servers = useInfiniteQuery({
    ...useTRPC().server.list.infiniteQueryOptions(
      { ...serverInput((name) => values[name] ?? ''), ...project.input, ...attention.input, ...sort.input },
      { getNextPageParam: (page) => page.nextCursor },
    ),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <AttentionFilterNote />
      <FilterBar search={search} filters={[state]} others={attention.active} sort={sort.menu}>
        <ColumnMenu choice={columns} />
      </FilterBar>
      <Card>
        <QueryView query={servers} skeleton={<SkeletonRows rows={6} />}>
          {(data) => {
            const items = data.pages.flatMap((page) => page.items);
            if (items.length === 0) {
              return active.length > 0 ? <NoMatches noun="servers" active={active} /> : <NoServers add={add} />;
            }
            return (
              <>
                <ServerTable servers={items} sort={sort} isShown={columns.isShown} />
                <ListFooter
                  query={servers}
                  shown={items.length}
                  total={data.pages[0]?.total ?? null}
                  noun={['server', 'servers']}
                />
              </>
            );
          }}
        </QueryView>
      </Card>
    </>
  );
}

function NoServers({ add }: { readonly add: ReactNode }) {
  return (
    <EmptyState icon={<Server size={20} />} title="Add your first server" action={add}>
      Any Linux machine that can reach this address. One command installs the agent. The agent connects to the control
      plane, so the server needs no open port for it.
    </EmptyState>
  );
}
