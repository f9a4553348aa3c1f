'use client';
// Transfers the organization to another member: asks for the typed name, and for an identity proof when the session is
// not fresh.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQuery } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { TypedNameField } from '../../common/form/confirm-delete.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';

export function TransferDialog({ onClose }: { readonly onClose: () => void }) {
  const { organization, user } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const members = useQuery(trpc.member.list.queryOptions()).data?.items ?? [];
  const others = members.filter((member) => member.userId !== user.id);
  const transfer = useFreshMutation(trpc.organization.transfer.mutationOptions());
  const [typed, setTyped] = useState('');
  const failure = transfer.error === null ? null : readFailure(transfer.error);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const newOwner = others.find(({ id }) => id === form.get('memberId'));
    if (newOwner === undefined) return;
    transfer.mutate(
      { memberId: newOwner.id, confirmName: typed },
      {
        onSuccess: () => {
          router.refresh();
          onClose();
        },
      },
    );
  };

  return (
    <Dialog
      open
      onClose={onClose}
      title={`Transfer ${organization.name}`}
      detail="The new owner has full access and can remove you. You stay as an admin."
    >
      <form onSubmit={submit} noValidate className="flex flex-col gap-4">
        {others.length === 0 ? (
          <p className="text-ink-soft">No other members yet. Invite the new owner first.</p>
        ) : (
          <>
            <Field label="New owner">
              {(control) => (
                <Select {...control} name="memberId">
                  {others.map((member) => (
                    <option key={member.id} value={member.id}>
                      {member.name} ({member.email})
                    </option>
                  ))}
                </Select>
              )}
            </Field>
            <TypedNameField name={organization.name} value={typed} onValue={setTyped} />
          </>
        )}
        {failure === null ? null : <ErrorNote>{failure.message}</ErrorNote>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton
            variant="danger"
            pending={transfer.isPending}
            disabled={typed !== organization.name || others.length === 0}
          >
            Transfer
          </SubmitButton>
        </div>
      </form>
    </Dialog>
  );
}
