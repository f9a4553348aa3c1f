'use client';
// DNS records of a domain's host: the state of the last check, what to do, the records to set, and the proof of ownership.
import type { HostView } from '@fairlead/core/host/schema';
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StatePill } from '@fairlead/ui/state-pill';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { DomainDetail } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { HostRecords } from '../../common/host/host-records.tsx';
import { CONFLICTS, explainHost, hostLook } from '../../common/host/host-state.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HostOwnership } from './host-ownership.tsx';

const REFETCH_MS = 15_000;

export function HostCard({ domain }: { readonly domain: DomainDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const query = useQuery({
    ...trpc.host.get.queryOptions({ domainId: domain.id }),
    // A check that finds nothing new sends no event, but its time is shown.
    refetchInterval: ({ state }) => (state.data?.state === 'ready' ? false : REFETCH_MS),
  });
  const verify = useAction(
    useMutation(trpc.host.verify.mutationOptions()),
    "The records weren't checked",
    () => void queryClient.invalidateQueries(trpc.host.pathFilter()),
  );
  const view = query.data;
  if (view === undefined || view === null) return null;
  const [tone, label] = hostLook(view.state, view.ownership.conflict);
  return (
    <Card className="mb-6">
      <CardHeader
        title="DNS records"
        detail={
          <span aria-live="polite">
            <StatePill tone={tone}>{label}</StatePill>
          </span>
        }
        action={
          can('domain.write') ? (
            <Button size="small" pending={verify.pending} onClick={() => verify.run({ domainId: domain.id })}>
              Check now
            </Button>
          ) : null
        }
      />
      <div className="flex flex-col gap-3 border-line border-t px-4 py-4 text-sm">
        {view.ownership.conflict === null ? null : <WarnNote>{CONFLICTS[view.ownership.conflict]}</WarnNote>}
        <p className="text-pretty text-ink-soft">{explainHost(view)}</p>
        <p className="text-ink-faint">
          {view.checkedAt === null ? (
            'Not checked yet.'
          ) : (
            <>
              Checked <RelativeTime at={view.checkedAt} />. The check repeats by itself.
            </>
          )}
        </p>
      </div>
      {view.records.length === 0 ? (
        <p className="border-line border-t px-4 py-4 text-pretty text-ink-soft text-sm">
          Fairlead doesn't know a public address of {view.serversWithoutAddress.join(', ') || "the app's servers"} yet,
          so it can't show the records. Enter the address on the server's page under Public addresses.
        </p>
      ) : (
        <>
          {view.aliasRecord === null ? null : (
            <>
              <RecordChoice>Set this record, which follows the server when its address changes:</RecordChoice>
              <HostRecords label={`Alias of ${view.host}`} records={[view.aliasRecord]} />
              <RecordChoice>Or set these instead:</RecordChoice>
            </>
          )}
          <HostRecords label={`Records of ${view.host}`} records={view.records} />
        </>
      )}
      <RecordHint view={view} />
      <HostOwnership domain={domain} view={view} />
    </Card>
  );
}

function RecordChoice({ children }: { readonly children: string }) {
  return <p className="border-line border-t px-4 py-3 text-ink-soft text-sm">{children}</p>;
}

function RecordHint({ view }: { readonly view: HostView }) {
  if (view.records.length === 0) return null;
  return (
    <p className="border-line border-t px-4 py-3 text-pretty text-ink-faint text-sm">
      Names are relative to the zone <span className="font-mono">{view.zone}</span>; some providers want the full name.
      {view.host.startsWith('*.')
        ? ' The certificate of a wildcard needs a DNS provider that Fairlead may change (DNS-01). It covers one label.'
        : null}
      {view.isApex
        ? ' At the zone itself no CNAME is allowed; ALIAS or ANAME records of your provider work too.'
        : null}
      {view.records.some(({ type }) => type === 'AAAA')
        ? null
        : ' Without an AAAA record, visitors reach the app over IPv4 only.'}
    </p>
  );
}
