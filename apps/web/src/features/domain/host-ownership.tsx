'use client';
// Verification of a domain's host: its TXT record, its release, and its transfer to another organization.
import type { HostTransfer, HostView } from '@fairlead/core/host/schema';
import { Button } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { Field, Input } from '@fairlead/ui/input';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateText } from '@fairlead/ui/state-pill';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { DomainDetail } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { HostRecords } from '../../common/host/host-records.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';

interface HostOwnershipProps {
  readonly domain: DomainDetail;
  readonly view: HostView;
}

export function HostOwnership({ domain, view }: HostOwnershipProps) {
  const { can } = useMe();
  const { record, provenAt, conflict } = view.ownership;
  const name = record.fullName.replace(/^[^.]+\./, '');
  return (
    <details className="border-line border-t" open={conflict !== null}>
      <summary className="flex min-h-11 cursor-pointer items-center gap-3 px-4 py-2 text-sm hover:bg-hover">
        <span className="font-medium">Domain verification</span>
        {provenAt === null ? (
          <StateText tone="idle">Not verified</StateText>
        ) : (
          <StateText tone="ok">Verified</StateText>
        )}
      </summary>
      <p className="px-4 pb-3 text-pretty text-ink-soft text-sm">
        {provenAt === null ? (
          `Add this record to verify that you own ${name}. After that, no other organization on this control plane can use it or a name below it.`
        ) : (
          <>
            Verified <RelativeTime at={provenAt} />. No other organization on this control plane can use{' '}
            <span className="font-mono">{name}</span> or a name below it.
          </>
        )}
      </p>
      <HostRecords label="Verification record" records={[record]} />
      {can('domain.write') ? (
        provenAt === null ? (
          <AcceptForm domain={domain} />
        ) : (
          <OwnerActions domain={domain} name={name} />
        )
      ) : null}
    </details>
  );
}

function OwnerActions({ domain, name }: { readonly domain: DomainDetail; readonly name: string }) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [releasing, setReleasing] = useState(false);
  const [offer, setOffer] = useState<HostTransfer | null>(null);
  const transfer = useAction(
    useFreshMutation(trpc.host.transfer.mutationOptions()),
    "The transfer code wasn't created",
    setOffer,
  );
  const release = useAction(useFreshMutation(trpc.host.release.mutationOptions()), "The name wasn't released", () => {
    setReleasing(false);
    void queryClient.invalidateQueries(trpc.host.pathFilter());
  });
  return (
    <div className="flex flex-col gap-3 border-line border-t px-4 py-3 text-sm">
      {offer === null ? null : (
        <div className="flex min-w-0 flex-col gap-1">
          <p className="text-pretty text-ink-soft">
            Give this code to the other organization. It enters the code on its own page of{' '}
            <span className="font-mono">{offer.name}</span>. The code is shown only once and expires{' '}
            <RelativeTime at={offer.expiresAt} />.
          </p>
          <span className="flex min-w-0 items-center gap-1 font-mono">
            <span className="break-all">{offer.code}</span>
            <CopyButton value={offer.code} label="Copy the transfer code" />
          </span>
        </div>
      )}
      <div className="flex flex-wrap gap-3">
        <Button size="small" pending={transfer.pending} onClick={() => transfer.run({ domainId: domain.id })}>
          Create transfer code
        </Button>
        <Button size="small" variant="ghost" onClick={() => setReleasing(true)}>
          Release name
        </Button>
      </div>
      <ConfirmDialog
        open={releasing}
        title={`Release ${name}`}
        action="Release name"
        pending={release.pending}
        onConfirm={() => release.run({ domainId: domain.id })}
        onClose={() => setReleasing(false)}
      >
        <p>
          Another organization can then verify the name or a name below it, and serve it instead. Until then your apps
          keep serving it.
        </p>
      </ConfirmDialog>
    </div>
  );
}

function AcceptForm({ domain }: { readonly domain: DomainDetail }) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [code, setCode] = useState('');
  const accept = useMutation(trpc.host.accept.mutationOptions());
  const failure = accept.error === null ? null : readFailure(accept.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    accept.mutate(
      { domainId: domain.id, code },
      {
        onSuccess: () => {
          setCode('');
          void queryClient.invalidateQueries(trpc.host.pathFilter());
        },
      },
    );
  };
  return (
    <form onSubmit={submit} noValidate className="flex items-start gap-3 border-line border-t p-4">
      <Field
        label="Transfer code"
        hint="From the organization that verified the name. Without a code, use the record above"
        error={failure === null ? undefined : (failure.fields.code ?? failure.message)}
        className="flex-1"
      >
        {(control) => (
          <Input
            {...control}
            mono
            autoComplete="off"
            value={code}
            placeholder="fl_host_…"
            onChange={(event) => setCode(event.target.value)}
          />
        )}
      </Field>
      <SubmitButton className="mt-[26px] h-9" pending={accept.isPending} disabled={code.trim() === ''}>
        Take over
      </SubmitButton>
    </form>
  );
}
