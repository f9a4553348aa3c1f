'use client';
// Page of a new app: the source is required, everything else has a working default and can be changed later.
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { openServers } from '../../common/server/server-options.tsx';
import { DeployKeyStep, type DeployKeyStepProps } from './deploy-key-step.tsx';
import { NewAppForm } from './new-app-form.tsx';

export function NewAppPage() {
  const { paths } = useMe();
  const servers = useQuery(useTRPC().server.list.queryOptions());
  const [key, setKey] = useState<DeployKeyStepProps | null>(null);
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Apps', href: paths.apps }]} />}
        title="New app"
        detail="Fairlead builds it on the server, starts it, and sends traffic to it once its health check passes."
      />
      {key === null ? (
        <QueryView query={servers} skeleton={<Skeleton className="h-[520px]" />}>
          {({ items }) => {
            const open = openServers(items);
            return open.length === 0 ? <NoServer /> : <NewAppForm servers={open} onKey={setKey} />;
          }}
        </QueryView>
      ) : (
        <DeployKeyStep {...key} />
      )}
    </Page>
  );
}

function NoServer() {
  const { paths, can } = useMe();
  return (
    <Card>
      <EmptyState
        title="An app needs a server"
        action={
          can('server.enrol') ? (
            <HoverLink href={paths.addServer} className={buttonClass('accent')}>
              Add server
            </HoverLink>
          ) : null
        }
      >
        Add a Linux machine with one command, then come back here.
      </EmptyState>
    </Card>
  );
}
