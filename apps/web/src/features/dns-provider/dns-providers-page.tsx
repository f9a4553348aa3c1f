'use client';
// DNS providers of the organization: their zones, a test of the connection, and the dialogs that change them.
import type { DnsProviderCheck, DnsProviderView } from '@fairlead/core/dns-provider/schema';
import { Button, IconButton } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { ErrorNote } from '@fairlead/ui/error-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { StateText } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Globe, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { DnsProviderDialog } from './dns-provider-dialog.tsx';
import { summaryOf } from './fields.ts';

type Open = { readonly provider: DnsProviderView | null } | null;

export function DnsProvidersPage() {
  const { can, paths } = useMe();
  const providers = useQuery(useTRPC().dnsProvider.list.queryOptions());
  const [open, setOpen] = useState<Open>(null);
  const add = can('organization.write') ? (
    <Button variant="accent" onClick={() => setOpen({ provider: null })}>
      Add DNS provider
    </Button>
  ) : null;
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />}
        title="DNS providers"
        detail="Fairlead sets DNS records in these zones to get certificates for wildcards and for domains without public access."
        actions={providers.data?.items.length === 0 ? undefined : add}
      />
      <QueryView query={providers} skeleton={<SkeletonRows rows={2} />}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={<Globe size={20} aria-hidden="true" />} title="No DNS provider yet" action={add}>
              Add one to get certificates for wildcards such as *.apps.example.com.
            </EmptyState>
          ) : (
            <Card>
              <ul>
                {items.map((provider) => (
                  <ProviderRow key={provider.id} provider={provider} onChange={() => setOpen({ provider })} />
                ))}
              </ul>
            </Card>
          )
        }
      </QueryView>
      {open === null ? null : <DnsProviderDialog provider={open.provider} onClose={() => setOpen(null)} />}
    </Page>
  );
}

function ProviderRow({ provider, onChange }: { readonly provider: DnsProviderView; readonly onChange: () => void }) {
  const { can } = useMe();
  const verify = useMutation(useTRPC().dnsProvider.verify.mutationOptions());
  const { id: dnsProviderId, zones, preferred } = provider;
  const failure = verify.error === null ? null : readFailure(verify.error).message;
  return (
    <li className="flex flex-col gap-3 border-line px-4 py-3 not-first:border-t">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span className="min-w-0 flex-1 basis-48">
          <span className="block break-words font-mono text-sm">{zones.join(', ')}</span>
          <span className="block text-ink-faint text-sm">
            {summaryOf(provider)}
            {preferred ? ' · every name' : ''}
          </span>
        </span>
        {can('organization.write') ? (
          <span className="flex items-center gap-2">
            <Button size="small" pending={verify.isPending} onClick={() => verify.mutate({ dnsProviderId })}>
              Test connection
            </Button>
            <Button size="small" onClick={onChange}>
              Change
            </Button>
            <DeleteProvider provider={provider} />
          </span>
        ) : null}
      </div>
      {failure === null ? null : <ErrorNote>{failure}</ErrorNote>}
      {verify.data === undefined ? null : <CheckResult check={verify.data} />}
    </li>
  );
}

function CheckResult({ check }: { readonly check: DnsProviderCheck }) {
  return (
    <ul className="flex flex-col gap-2 text-sm" aria-live="polite">
      {check.items.map(({ zone, failure }) =>
        failure === null ? (
          <li key={zone}>
            <StateText tone="ok">{`${zone}: a record was set and removed`}</StateText>
          </li>
        ) : (
          <li key={zone}>
            <ErrorNote>{`${zone}: ${failure}`}</ErrorNote>
          </li>
        ),
      )}
    </ul>
  );
}

function DeleteProvider({ provider }: { readonly provider: DnsProviderView }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [open, setOpen] = useState(false);
  const end = useMutation(trpc.dnsProvider.delete.mutationOptions());
  const zones = provider.zones.join(', ');
  return (
    <>
      <IconButton label={`Delete the provider of ${zones}`} onClick={() => setOpen(true)}>
        <Trash2 size={16} aria-hidden="true" />
      </IconButton>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        title={`Delete the provider of ${zones}?`}
        action="Delete provider"
        pending={end.isPending}
        error={end.error}
        onConfirm={() =>
          end.mutate(
            { dnsProviderId: provider.id },
            {
              onSuccess: () => {
                toast({ title: 'DNS provider deleted' });
                setOpen(false);
                void queryClient.invalidateQueries(trpc.dnsProvider.pathFilter());
              },
            },
          )
        }
      >
        Its credentials are deleted. Certificates stay in use; those of wildcards can't be renewed without another
        provider.
      </ConfirmDialog>
    </>
  );
}
