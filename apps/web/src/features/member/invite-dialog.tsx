'use client';
// Invites a person by a mail that only their address can use, or by a link that any holder can use.
import { Button } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Select } from '@fairlead/ui/input';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { Segmented } from '@fairlead/ui/tabs';
import { useToast } from '@fairlead/ui/toast';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { localAddressIn } from '../../common/server/local-address.ts';
import { type MemberRole, useRoles } from './use-roles.ts';

const WAYS = [
  { value: 'mail', label: 'By email' },
  { value: 'link', label: 'By link' },
] as const;
type Way = (typeof WAYS)[number]['value'];

export function InviteDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { organization } = useMe();
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={`Invite to ${organization.name}`}
      detail="It works once and expires in seven days. You can revoke it until then."
    >
      <InviteForm onClose={onClose} />
    </Dialog>
  );
}

function InviteForm({ onClose }: { readonly onClose: () => void }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const { assignableRoles } = useRoles();
  const mailAvailable = useQuery(trpc.invitation.list.queryOptions()).data?.mailAvailable ?? false;
  const create = useFreshMutation(trpc.invitation.create.mutationOptions());
  const [chosen, setChosen] = useState<Way | null>(null);
  const [role, setRole] = useState<MemberRole>('developer');
  const way = chosen ?? (mailAvailable ? 'mail' : 'link');
  const failure = create.error === null ? null : readFailure(create.error);
  const given = assignableRoles.find((choice) => choice.role === role) ?? assignableRoles[0];

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const email = String(new FormData(event.currentTarget).get('email') ?? '').trim();
    if (given === undefined) return;
    create.mutate(way === 'mail' ? { role: given.role, email } : { role: given.role }, {
      onSuccess: ({ url }) => {
        void queryClient.invalidateQueries(trpc.invitation.pathFilter());
        if (url !== null) return;
        toast({ title: `${email} is invited` });
        onClose();
      },
    });
  };

  if (create.data?.url)
    return <InvitationLink url={create.data.url} expiresAt={create.data.expiresAt} onClose={onClose} />;
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Segmented
        label="How to invite"
        value={way}
        options={WAYS}
        onValueChange={(value) => {
          setChosen(value);
          create.reset();
        }}
        className="self-start"
      />
      {way === 'mail' ? (
        <Field
          label="Email"
          hint={
            mailAvailable
              ? 'Only this address can accept.'
              : "Email isn't configured: the operator has not set mail.smtp_url_file and mail.from."
          }
          error={failure?.fields.email}
        >
          {(control) => (
            <Input {...control} name="email" type="email" autoComplete="off" autoFocus disabled={!mailAvailable} />
          )}
        </Field>
      ) : (
        <p className="text-pretty text-ink-soft">
          You get a link to share. The first person to open it joins, so send it to one person only.
        </p>
      )}
      <Field label="Role" hint={given?.summary ?? undefined}>
        {(control) => (
          <Select
            {...control}
            value={given?.role ?? ''}
            onChange={(event) => setRole(event.target.value as MemberRole)}
          >
            {assignableRoles.map((choice) => (
              <option key={choice.role} value={choice.role}>
                {choice.label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {failure === null || failure.fields.email !== undefined ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <div className="flex justify-end">
        <SubmitButton
          variant="accent"
          pending={create.isPending}
          disabled={given === undefined || (way === 'mail' && !mailAvailable)}
        >
          {way === 'mail' ? 'Send invitation' : 'Create link'}
        </SubmitButton>
      </div>
    </form>
  );
}

interface InvitationLinkProps {
  readonly url: string;
  readonly expiresAt: Date;
  readonly onClose: () => void;
}

/** Shows the link this one time: only its hash is stored. */
export function InvitationLink({ url, expiresAt, onClose }: InvitationLinkProps) {
  return (
    <div className="flex flex-col gap-4">
      {localAddressIn(url) === null ? null : (
        <WarnNote>This control plane has a localhost address, so the link works on this machine only.</WarnNote>
      )}
      <p className="text-pretty">
        Copy it now: it isn't shown again. It expires <RelativeTime at={expiresAt} className="text-ink-soft" />.
      </p>
      <div className="flex items-start gap-2 rounded-control border border-line bg-sunken py-2 pr-2 pl-3">
        <code data-testid="invitation-link" className="min-w-0 flex-1 break-all font-mono text-xs leading-5">
          {url}
        </code>
        <CopyButton value={url} label="Copy link" />
      </div>
      <div className="flex justify-end">
        <Button onClick={onClose}>Done</Button>
      </div>
    </div>
  );
}
