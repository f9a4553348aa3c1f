'use client';
// Grants a member an additional role in a scope.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs, Outputs } from '../../api/types.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { roleLabel } from '../../common/organization/role-labels.ts';
import type { Roles } from './role-matrix.tsx';

type Member = Outputs['member']['list']['items'][number];
type Environment = Outputs['environment']['list']['items'][number];
type Grant = Inputs['grant']['create'];

interface Props {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly roles: Roles;
  readonly members: readonly Member[];
}

export function GrantDialog({ open, onClose, roles, members }: Props) {
  return (
    <Dialog open={open} onClose={onClose} title="Grant role" detail="In addition to the member's role.">
      <GrantForm onClose={onClose} roles={roles} members={members} />
    </Dialog>
  );
}

function GrantForm({ onClose, roles, members }: Omit<Props, 'open'>) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const environments = useQuery(trpc.environment.list.queryOptions());
  const give = useFreshMutation(trpc.grant.create.mutationOptions());
  const [memberId, setMemberId] = useState<string>(members[0]?.id ?? '');
  const [role, setRole] = useState('developer');
  const [scopeIndex, setScopeIndex] = useState(0);
  // Without the environments, the dialog would propose the whole organization.
  const scopes = environments.data === undefined ? [] : scopesOf(environments.data.items);
  const error = give.error ?? environments.error;
  const options = [
    ...roles.builtIn
      .filter((each) => each.role !== 'owner')
      .map((each) => ({ id: each.role, name: roleLabel(each.role, []).label })),
    ...roles.custom,
  ];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const member = members.find(({ id }) => id === memberId);
    const where = scopes[scopeIndex];
    if (member === undefined || where === undefined) return;
    give.mutate(
      { memberId: member.id, role: role as Grant['role'], scope: where.scope },
      {
        onSuccess: async () => {
          await Promise.all([trpc.grant, trpc.role].map((each) => queryClient.invalidateQueries(each.pathFilter())));
          onClose();
        },
      },
    );
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Field label="Member">
        {(control) => (
          <Select {...control} autoFocus value={memberId} onChange={(event) => setMemberId(event.target.value)}>
            {members.map((member) => (
              <option key={member.id} value={member.id}>
                {member.name} ({member.email})
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label="Role">
        {(control) => (
          <Select {...control} value={role} onChange={(event) => setRole(event.target.value)}>
            {options.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label="Scope" hint="A grant on a project applies to all its environments.">
        {(control) => (
          <Select {...control} value={scopeIndex} onChange={(event) => setScopeIndex(Number(event.target.value))}>
            {scopes.map(({ name }, index) => (
              <option key={name} value={index}>
                {name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {error === null ? null : <ErrorNote>{readFailure(error).message}</ErrorNote>}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <SubmitButton variant="accent" pending={give.isPending} disabled={scopes.length === 0}>
          Grant
        </SubmitButton>
      </div>
    </form>
  );
}

/** Narrowest scope first, because it is the recommended one. */
function scopesOf(environments: readonly Environment[]): { readonly name: string; readonly scope: Grant['scope'] }[] {
  const projects = new Map(environments.map(({ projectId, projectName }) => [projectId, projectName] as const));
  return [
    ...environments.map(({ id, name, projectName }) => ({
      name: `${projectName} / ${name}`,
      scope: { kind: 'environment' as const, environmentId: id },
    })),
    ...[...projects].map(([projectId, name]) => ({
      name: `Project ${name}`,
      scope: { kind: 'project' as const, projectId },
    })),
    { name: 'The whole organization', scope: { kind: 'organization' as const } },
  ];
}
