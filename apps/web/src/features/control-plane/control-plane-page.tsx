'use client';
// Control plane page: the state of this control plane for the people who operate it. Reloads itself while it is open.
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ControlPlaneState } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { BackupsCard, isUnfinished } from './backups-card.tsx';
import { DomainsCard } from './domains-card.tsx';
import { JobsCard } from './jobs-card.tsx';
import { MailCard } from './mail-card.tsx';
import { StorageCard } from './storage-card.tsx';
import { isUpdating, UpdatesCard } from './updates-card.tsx';

const REFRESH_MS = 15_000;
/** While a backup or an update runs. */
const REFRESH_IN_WORK_MS = 2000;

export function ControlPlanePage() {
  const { paths } = useMe();
  const state = useQuery(
    useTRPC().controlPlane.get.queryOptions(undefined, {
      refetchInterval: ({ state: { data } }) =>
        data !== undefined && (data.backups.latest.some(isUnfinished) || isUpdating(data.updates))
          ? REFRESH_IN_WORK_MS
          : REFRESH_MS,
    }),
  );
  useReloadAfterUpdate(state.data?.updates.current);
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />}
        title="Control plane"
        detail="Updates, backups, storage, jobs, email, domains, addresses and versions. Only owners of the organization that was set up first see this page."
      />
      <QueryView query={state} skeleton={<SkeletonRows rows={8} />}>
        {({ warnings, addresses, mail, versions, backups, jobs, storage, updates }) => (
          <div className="flex flex-col gap-6">
            {warnings.map(({ title, detail }) => (
              <WarnNote key={title}>{`${title}. ${detail}`}</WarnNote>
            ))}
            <UpdatesCard updates={updates} isAway={state.isError} />
            <BackupsCard backups={backups} />
            <StorageCard storage={storage} />
            <JobsCard jobs={jobs} />
            <MailCard mail={mail} />
            <DomainsCard />
            <AddressesCard addresses={addresses} />
            <VersionsCard versions={versions} />
          </div>
        )}
      </QueryView>
    </Page>
  );
}

/** Loads the programs of the new version once the dashboard is back. */
function useReloadAfterUpdate(version: string | undefined): void {
  const loaded = useRef(version);
  useEffect(() => {
    loaded.current ??= version;
    if (version !== loaded.current) window.location.reload();
  }, [version]);
}

function AddressesCard({ addresses }: Pick<ControlPlaneState, 'addresses'>) {
  const { publicUrl, agentUrl, webListen, gatewayListen, trustedProxies, clientAddress } = addresses;
  return (
    <FactsCard
      id="addresses"
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
  const { plural } = useFormats();
  const { controlPlane, node, postgres, offeredAgents, agents } = versions;
  return (
    <FactsCard
      id="versions"
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

function FactsCard({
  id,
  title,
  items,
}: {
  readonly id: string;
  readonly title: string;
  readonly items: Parameters<typeof Facts>[0]['items'];
}) {
  return (
    <Card id={id} className="scroll-mt-4">
      <CardHeader title={title} />
      <Facts className="border-line border-t px-4 py-4 sm:grid-cols-2" items={items} />
    </Card>
  );
}

function Mono({ children }: { readonly children: ReactNode }) {
  return <span className="break-all font-mono text-sm">{children}</span>;
}
