'use client';
// Public addresses of a server: the detected ones, and those that a member entered instead.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { RangesField } from '../../common/form/ranges-field.tsx';
import { useMe } from '../../common/organization/me.tsx';

export function ServerAddresses({ server }: { readonly server: ServerDetail }) {
  const { can } = useMe();
  const [editing, setEditing] = useState(false);
  const { detected, entered } = server.addresses;
  const isEntered = entered.length > 0;
  const addresses = isEntered ? entered : detected;
  return (
    <Card>
      <CardHeader
        title="Public addresses"
        detail={isEntered ? 'Entered' : 'Detected'}
        action={
          can('server.write') && !editing ? (
            <Button size="small" onClick={() => setEditing(true)}>
              Edit addresses
            </Button>
          ) : null
        }
      />
      <div className="border-line border-t px-4 py-3">
        {addresses.length === 0 ? (
          <p className="text-pretty text-ink-soft">
            Fairlead doesn't know a public address of this server, because the agent found none on its interfaces.
            Behind NAT or a load balancer, enter the address that visitors reach. Domains then show the DNS records to
            set.
          </p>
        ) : (
          <ul className="flex flex-wrap gap-x-6 gap-y-1">
            {addresses.map((address) => (
              <li key={address} className="flex min-w-0 items-center gap-1">
                <span className="break-all font-mono text-sm">{address}</span>
                <CopyButton value={address} label={`Copy ${address}`} />
              </li>
            ))}
          </ul>
        )}
        {isEntered && detected.length > 0 ? (
          <p className="mt-2 text-ink-faint text-sm">
            Detected: <span className="font-mono">{detected.join(', ')}</span>
          </p>
        ) : null}
      </div>
      {editing ? <AddressesForm server={server} onEnd={() => setEditing(false)} /> : null}
    </Card>
  );
}

function AddressesForm({ server, onEnd }: { readonly server: ServerDetail; readonly onEnd: () => void }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useMutation(trpc.server.updateAddresses.mutationOptions());
  const { detected, entered } = server.addresses;
  const [addresses, setAddresses] = useState<string[]>(() => [...(entered.length > 0 ? entered : detected)]);
  const failure = update.error === null ? null : readFailure(update.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const isDetected = addresses.join() === detected.join();
    update.mutate(
      { serverId: server.id, addresses: isDetected ? [] : addresses },
      {
        onSuccess: async () => {
          toast({ title: 'Saved', detail: `Domains on ${server.name} are checked against its addresses.` });
          await queryClient.invalidateQueries(trpc.server.pathFilter());
          onEnd();
        },
      },
    );
  };
  return (
    <form
      onSubmit={submit}
      noValidate
      aria-label="Public addresses"
      className="flex flex-col gap-4 border-line border-t p-4"
    >
      <RangesField
        label="Addresses"
        hint="One per line, IPv4 or IPv6. Default: the detected addresses"
        placeholder="203.0.113.7"
        error={failure === null ? undefined : (Object.values(failure.fields)[0] ?? failure.message)}
        value={addresses}
        onValue={setAddresses}
      />
      <div className="flex justify-end gap-3">
        <Button variant="ghost" onClick={onEnd}>
          Cancel
        </Button>
        <SubmitButton variant="accent" pending={update.isPending}>
          Save addresses
        </SubmitButton>
      </div>
    </form>
  );
}
