'use client';
// Control plane page: the state of this control plane for the people who operate it. Reloads itself while it is open.
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { plural } from '@fairlead/ui/lib/format';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ControlPlaneState } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { BackupsCard, isUnfinished } from './backups-card.tsx';
import { JobsCard } from './jobs-card.tsx';
import { MailCard } from './mail-card.tsx';
import { StorageCard } from './storage-card.tsx';

const REFRESH_MS = 15_000;
const REFRESH_IN_BACKUP_MS = 2000;

export function ControlPlanePage() {
  const { paths } = useMe();
  const state = useQuery(
    useTRPC().controlPlane.get.queryOptions(undefined, {
      refetchInterval: ({ state: { data } }) =>
        data?.backups.latest.some(isUnfinished) ? REFRESH_IN_BACKUP_MS : REFRESH_MS,
    }),
  );
  return (
    <Page width="narrow">
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />}
        title="Control plane"
        detail="Backups, storage, jobs, mail, addresses and versions. Only owners of the organization that was set up first see this page."
      />
      <QueryView query={state} skeleton={<SkeletonRows rows={8} />}>
        {({ warnings, addresses, mail, versions, backups, jobs, storage }) => (
          <div className="flex flex-col gap-6">
            {warnings.map(({ title, detail }) => (
              <WarnNote key={title}>{`${title}. ${detail}`}</WarnNote>
            ))}
            <BackupsCard backups={backups} />
            <StorageCard storage={storage} />
            <JobsCard jobs={jobs} />
            <MailCard mail={mail} />
            <AddressesCard addresses={addresses} />
            <VersionsCard versions={versions} />
          </div>
        )}
      </QueryView>
    </Page>
  );
}

function AddressesCard({ addresses }: Pick<ControlPlaneState, 'addresses'>) {
  const { publicUrl, agentUrl, webListen, gatewayListen, trustedProxies, clientAddress } = addresses;
  return (
    <FactsCard
      title="Addresses"
      items={[
        { term: 'Public URL', value: <Mono>{publicUrl}</Mono> },
        { term: 'Agent URL', value: <Mono>{agentUrl}</Mono> },
        { term: 'Dashboard listens on', value: <Mono>{webListen}</Mono> },
        { term: 'Gateway listens on', value: <Mono>{gatewayListen}</Mono> },
        {
          term: 'Trusted proxies',
          value: trustedProxies.length === 0 ? 'None' : <Mono>{trustedProxies.join(', ')}</Mono>,
        },
        {
          term: 'Client addresses',
          value:
            clientAddress === null ? (
              'Unknown: set trusted_proxies to the address of your reverse proxy.'
            ) : (
              <>
                Known. Yours is <Mono>{clientAddress}</Mono>
              </>
            ),
        },
      ]}
    />
  );
}

function VersionsCard({ versions }: Pick<ControlPlaneState, 'versions'>) {
  const { controlPlane, node, postgres, offeredAgents, agents } = versions;
  return (
    <FactsCard
      title="Versions"
      items={[
        { term: 'Control plane', value: controlPlane },
        { term: 'Node.js', value: node },
        { term: 'PostgreSQL', value: postgres },
        {
          term: 'Offered agents',
          value: offeredAgents.map(({ target, version }) => `${version} (${target})`).join(', ') || 'None',
        },
        {
          term: 'Agents in use',
          value:
            agents.map(({ version, servers }) => `${version} on ${plural(servers, 'server')}`).join(', ') ||
            'No server has connected yet',
        },
      ]}
    />
  );
}

function FactsCard({ title, items }: { readonly title: string; readonly items: Parameters<typeof Facts>[0]['items'] }) {
  return (
    <Card>
      <CardHeader title={title} />
      <Facts className="border-line border-t px-4 py-4 sm:grid-cols-2" items={items} />
    </Card>
  );
}

function Mono({ children }: { readonly children: ReactNode }) {
  return <span className="break-all font-mono text-sm">{children}</span>;
}
