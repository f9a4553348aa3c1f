'use client';
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SearchInput } from '@fairlead/ui/search-input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { Plus, Server } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerSummary } from '../../api/types.ts';
import { useLiveServerFigures } from '../../common/app/use-live-figures.ts';
import { useMe } from '../../common/organization/me.tsx';
// Lists all servers with live gauges; the URL can open the dialog that adds one.
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter, useUrlSearch } from '../../common/page/use-url-state.ts';
import { ServerCard } from '../../common/server/server-card.tsx';
import { AddServerDialog } from './add-server-dialog.tsx';
import { AgentRolloutNote } from './agent-rollout-note.tsx';

export function ServerListPage() {
  const { can } = useMe();
  const trpc = useTRPC();
  const servers = useQuery(trpc.server.list.queryOptions());
  const adding = useUrlFilter('add');
  const search = useUrlSearch();
  const canAdd = can('server.enrol');
  const add = canAdd ? (
    <Button variant="accent" icon={<Plus size={16} aria-hidden="true" />} onClick={() => adding.set('1')}>
      Add server
    </Button>
  ) : null;
  return (
    <OrganizationLive>
      <Page>
        <PageHeader title="Servers" actions={add} />
        <QueryView query={servers} skeleton={<ServersSkeleton />}>
          {({ items }) =>
            items.length === 0 ? (
              <Card>
                <EmptyState icon={<Server size={20} />} title="Add your first server" action={add}>
                  Any Linux machine that can reach this address. One command installs the agent. The agent connects to
                  the control plane, so the server needs no open port for it.
                </EmptyState>
              </Card>
            ) : (
              <>
                <AgentRolloutNote />
                <SearchInput
                  label="Search servers"
                  value={search.typed}
                  onValueChange={search.setTyped}
                  className="mb-4 sm:max-w-80"
                />
                <ServerGrid servers={items} search={search.value} />
              </>
            )
          }
        </QueryView>
      </Page>
      {canAdd ? <AddServerDialog open={adding.value !== ''} onClose={() => adding.set('')} /> : null}
    </OrganizationLive>
  );
}

function ServerGrid({ servers, search }: { readonly servers: readonly ServerSummary[]; readonly search: string }) {
  const figures = useLiveServerFigures();
  const wanted = search.toLowerCase();
  const shown = servers.filter((server) => `${server.name} ${server.host.hostname}`.toLowerCase().includes(wanted));
  if (shown.length === 0) {
    return (
      <Card>
        <EmptyState title={`No server matches “${search}”`}>Search by its name or its host name.</EmptyState>
      </Card>
    );
  }
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-3">
      {shown.map((server) => (
        <ServerCard key={server.id} server={server} sample={figures.get(server.id)} level={2} />
      ))}
    </div>
  );
}

function ServersSkeleton() {
  return (
    <>
      <Skeleton className="mb-4 h-8 w-80" />
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-3">
        <Skeleton className="h-[132px]" />
        <Skeleton className="h-[132px]" />
        <Skeleton className="h-[132px]" />
      </div>
    </>
  );
}
