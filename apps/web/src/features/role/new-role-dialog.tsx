'use client';
// Creates a role from a name and a role to copy. Its permissions are edited in the matrix afterwards.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { roleLabel } from '../../common/organization/role-labels.ts';
import type { Roles } from './role-matrix.tsx';

interface Props {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly roles: Roles;
}

export function NewRoleDialog({ open, onClose, roles }: Props) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="New role"
      detail="It has the permissions that you select, and no others."
    >
      <NewRole onClose={onClose} roles={roles} />
    </Dialog>
  );
}

function NewRole({ onClose, roles }: Omit<Props, 'open'>) {
  const { can } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const create = useFreshMutation(trpc.role.create.mutationOptions());
  const [name, setName] = useState('');
  const [from, setFrom] = useState('');
  const failure = create.error === null ? null : readFailure(create.error);
  const bases = roles.builtIn.filter(({ role }) => role !== 'owner');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const permissions = (bases.find(({ role }) => role === from)?.permissions ?? []).filter((each) => can(each));
    create.mutate(
      // Only the owner role has permissions that no other role may have, and it cannot be copied.
      { name, permissions: permissions as never },
      {
        onSuccess: async () => {
          await queryClient.invalidateQueries(trpc.role.pathFilter());
          onClose();
        },
      },
    );
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Field label="Name" error={failure?.fields.name}>
        {(control) => (
          <Input
            {...control}
            autoFocus
            placeholder="Release manager"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Copy from" hint="Later changes to one don't change the other.">
        {(control) => (
          <Select {...control} value={from} onChange={(event) => setFrom(event.target.value)}>
            <option value="">No permissions</option>
            {bases.map(({ role }) => (
              <option key={role} value={role}>
                {roleLabel(role, []).label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {failure === null || failure.fields.name !== undefined ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <SubmitButton variant="accent" pending={create.isPending}>
          Create role
        </SubmitButton>
      </div>
    </form>
  );
}
