'use client';
// Domains of the dashboard: the addresses it answers at, the set-up of a new one, and the removal of one.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { StatePill } from '@fairlead/ui/state-pill';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { DashboardDomain, DashboardDomains } from '../../api/types.ts';
import { DomainForm } from '../../common/dashboard-domain/domain-form.tsx';
import { DomainProgress } from '../../common/dashboard-domain/domain-progress.tsx';
import { useDashboardDomains } from '../../common/dashboard-domain/use-dashboard-domains.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';

export function DomainsCard() {
  const domains = useDashboardDomains();
  return (
    <Card id="domains">
      <CardHeader title="Domains" />
      <QueryView query={domains} skeleton={<SkeletonRows rows={2} />}>
        {(data) => <Content domains={data} />}
      </QueryView>
    </Card>
  );
}

function Content({ domains }: { readonly domains: DashboardDomains }) {
  const { reach, settingsUrl, publicUrl, suggestedHost, items } = domains;
  const { paths } = useMe();
  const [removed, setRemoved] = useState<DashboardDomain | null>(null);
  if (reach !== 'served') return <Explanation>{NOT_SERVED[reach]}</Explanation>;
  const isSuggested = suggestedHost !== null && items.every(({ host }) => host !== suggestedHost);
  return (
    <>
      <Explanation>
        Links in emails lead to <Mono>{publicUrl}</Mono>. The public URL of the settings file,{' '}
        <Mono>{settingsUrl}</Mono>, always works too.
      </Explanation>
      {items.map((domain) => (
        <div key={domain.id} className="flex flex-col gap-4 border-line border-t px-4 py-4">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
            <a href={domain.url} className="min-w-0 break-all font-mono text-sm hover:underline">
              {domain.host}
            </a>
            <Use domain={domain} />
            <Button size="small" className="ml-auto" onClick={() => setRemoved(domain)}>
              Remove
            </Button>
          </div>
          {domain.answeredAt === null ? <DomainProgress domain={domain} serversHref={paths.servers} /> : null}
        </div>
      ))}
      <div className="border-line border-t px-4 py-4">
        <DomainForm key={items.length} suggestedHost={isSuggested ? suggestedHost : null} />
      </div>
      {removed === null ? null : (
        <RemoveDialog
          domain={removed}
          staysReachable={removed.host === suggestedHost}
          onClose={() => setRemoved(null)}
        />
      )}
    </>
  );
}

const NOT_SERVED: Readonly<Record<Exclude<DashboardDomains['reach'], 'served'>, ReactNode>> = {
  local: (
    <>
      The dashboard is reachable from this machine only, so it can't have a domain. Set <Mono>public_url</Mono> in the
      settings file to an https address of this machine, and start Fairlead again.
    </>
  ),
  reverse_proxy: (
    <>
      A reverse proxy of yours serves the dashboard, so its domain and certificate are set there. Set{' '}
      <Mono>public_url</Mono> in the settings file to the same domain.
    </>
  ),
};

function Use({ domain: { isCurrent, answeredAt } }: { readonly domain: DashboardDomain }) {
  if (isCurrent) return <StatePill tone="ok">In use</StatePill>;
  return answeredAt === null ? (
    <StatePill tone="busy">Setting up</StatePill>
  ) : (
    <StatePill tone="idle">Active</StatePill>
  );
}

interface RemoveDialogProps {
  readonly domain: DashboardDomain;
  /** The public URL of the settings has this domain too. */
  readonly staysReachable: boolean;
  readonly onClose: () => void;
}

function RemoveDialog({ domain, staysReachable, onClose }: RemoveDialogProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const remove = useFreshMutation(trpc.dashboardDomain.delete.mutationOptions());
  const onSuccess = () => {
    void queryClient.invalidateQueries(trpc.dashboardDomain.pathFilter());
    void queryClient.invalidateQueries(trpc.controlPlane.pathFilter());
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Remove ${domain.host}`}
      action="Remove domain"
      pending={remove.isPending}
      error={wasCancelled(remove.error) ? null : remove.error}
      onConfirm={() => remove.mutate({ dashboardDomainId: domain.id }, { onSuccess })}
      onClose={onClose}
    >
      <p className="text-pretty">
        {staysReachable
          ? "The dashboard keeps answering there, but with a certificate that browsers don't trust."
          : 'The dashboard no longer answers at this domain, and its certificate is deleted.'}
      </p>
      {domain.answeredAt === null || staysReachable ? null : (
        <p className="text-pretty">
          Links that were sent with it break. Servers that were added with it lose the control plane; their apps keep
          running. Passkeys that were made there stop working.
        </p>
      )}
    </ConfirmDialog>
  );
}

function Explanation({ children }: { readonly children: ReactNode }) {
  return <p className="text-pretty border-line border-t px-4 py-4 text-ink-soft text-sm">{children}</p>;
}

function Mono({ children }: { readonly children: ReactNode }) {
  return <span className="break-all font-mono">{children}</span>;
}
