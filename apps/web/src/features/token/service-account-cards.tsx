'use client';
// Service accounts as cards: role, tokens, and what a deletion would remove.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Dialog } from '@fairlead/ui/dialog';
import { EmptyState } from '@fairlead/ui/empty-state';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Select } from '@fairlead/ui/input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Bot, Plus } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs, Outputs } from '../../api/types.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { roleLabel } from '../../common/organization/role-labels.ts';
import { QueryView } from '../../common/page/query-view.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { TokenRows } from './token-rows.tsx';
import { useCreateServiceToken } from './use-create-token.ts';

type ServiceAccount = Outputs['serviceAccount']['list']['items'][number];
type Role = Inputs['serviceAccount']['create']['role'];

interface RoleChoice {
  readonly role: Role;
  readonly label: string;
  /** Short description; null for a custom role. */
  readonly summary: string | null;
}

const BUILT_IN: readonly Role[] = ['viewer', 'developer', 'deployer', 'admin'];

export function ServiceAccountCards() {
  const { can } = useMe();
  const trpc = useTRPC();
  const [adding, setAdding] = useState(false);
  const accounts = useQuery(trpc.serviceAccount.list.queryOptions());
  const custom = useQuery({ ...trpc.role.list.queryOptions(), enabled: can('role.read') }).data?.custom ?? [];
  const roles: RoleChoice[] = [...BUILT_IN, ...custom.map(({ id }) => id)].map((role) => ({
    role,
    ...roleLabel(role, custom),
  }));
  const refresh = () => void accounts.refetch();
  return (
    <section className="flex flex-col gap-3">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 px-1">
        <h2 className="font-semibold text-lg">Service accounts</h2>
        <span className="text-sm text-ink-faint">Machine users with their own role, for CI.</span>
        {can('member.write') ? (
          <Button className="ml-auto" icon={<Plus size={16} aria-hidden="true" />} onClick={() => setAdding(true)}>
            Add service account
          </Button>
        ) : null}
      </header>
      <QueryView query={accounts} skeleton={<Skeleton className="h-32" />}>
        {({ items }) =>
          items.length === 0 ? (
            <Card>
              <EmptyState icon={<Bot size={20} />} title="No service accounts">
                Use service accounts for CI so that access survives when people leave.
              </EmptyState>
            </Card>
          ) : (
            items.map((account) => <AccountCard key={account.id} account={account} roles={roles} onChange={refresh} />)
          )
        }
      </QueryView>
      {adding ? (
        <AddDialog
          roles={roles}
          onClose={() => {
            setAdding(false);
            refresh();
          }}
        />
      ) : null}
    </section>
  );
}

interface AccountCardProps {
  readonly account: ServiceAccount;
  readonly roles: readonly RoleChoice[];
  readonly onChange: () => void;
}

function AccountCard({ account, roles, onChange }: AccountCardProps) {
  const { can } = useMe();
  const trpc = useTRPC();
  const [open, setOpen] = useState<'token' | 'delete' | null>(null);
  const create = useCreateServiceToken();
  const remove = useMutation(trpc.serviceAccount.delete.mutationOptions());
  const update = useAction(
    useFreshMutation(trpc.serviceAccount.update.mutationOptions()),
    "The role wasn't changed",
    onChange,
  );
  const revoke = useAction(
    useMutation(trpc.serviceAccount.revokeToken.mutationOptions()),
    "The token wasn't revoked",
    onChange,
  );
  const manages = can('member.write');
  const serviceAccountId = account.id;
  const close = () => {
    setOpen(null);
    create.reset();
    onChange();
  };
  return (
    <Card>
      <CardHeader
        title={account.name}
        level={3}
        action={
          manages ? (
            <>
              <Select
                aria-label={`Role of ${account.name}`}
                value={account.role}
                disabled={update.pending}
                onChange={(event) => {
                  const role = roles.find((choice) => choice.role === event.target.value)?.role;
                  if (role !== undefined) update.run({ serviceAccountId, role });
                }}
                className="w-36"
              >
                {roles.map(({ role, label }) => (
                  <option key={role} value={role}>
                    {label}
                  </option>
                ))}
              </Select>
              <Button onClick={() => setOpen('token')}>Create token</Button>
              <Button variant="danger-outline" onClick={() => setOpen('delete')}>
                Delete
              </Button>
            </>
          ) : null
        }
      />
      <div className="border-line border-t">
        {account.tokens.length === 0 ? (
          <p className="px-4 py-3 text-ink-faint">No tokens yet.</p>
        ) : (
          <TokenRows
            tokens={account.tokens}
            pending={revoke.pending}
            onRevoke={manages ? (tokenId) => revoke.run({ tokenId }) : undefined}
          />
        )}
      </div>
      {open === 'token' ? (
        <CreateDialog
          title={`Create token for ${account.name}`}
          pending={create.isPending}
          error={create.error}
          token={create.data?.token ?? null}
          onCreate={(token) => create.mutate({ ...token, serviceAccountId })}
          onClose={close}
        />
      ) : null}
      <ConfirmDelete
        open={open === 'delete'}
        onClose={() => setOpen(null)}
        what="service account"
        name={account.name}
        consequences={<p>{consequencesOf(account.tokens.length)}</p>}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={(confirmName) => remove.mutate({ serviceAccountId, confirmName }, { onSuccess: close })}
      />
    </Card>
  );
}

function consequencesOf(tokens: number): string {
  if (tokens === 0) return 'It has no tokens, so nothing stops working.';
  return `${tokens === 1 ? 'Its token stops' : `Its ${tokens} tokens stop`} working immediately, and so does everything that uses ${tokens === 1 ? 'it' : 'them'}.`;
}

function AddDialog({ roles, onClose }: Pick<AccountCardProps, 'roles'> & { readonly onClose: () => void }) {
  const trpc = useTRPC();
  const create = useFreshMutation(trpc.serviceAccount.create.mutationOptions());
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('deployer');
  const failure = create.error === null ? null : readFailure(create.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({ name, role }, { onSuccess: onClose });
  };
  return (
    <Dialog open onClose={onClose} title="Add service account">
      <form onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Field label="Name" error={failure?.fields.name}>
          {(control) => <Input {...control} autoFocus value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label="Role" hint="Maximum permissions of its tokens.">
          {(control) => (
            <Select
              {...control}
              value={role}
              onChange={(event) => setRole(roles.find((choice) => choice.role === event.target.value)?.role ?? role)}
            >
              {roles.map(({ role: each, label, summary }) => (
                <option key={each} value={each}>
                  {summary === null ? label : `${label}: ${summary}`}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {failure === null || failure.fields.name !== undefined ? null : <ErrorNote>{failure.message}</ErrorNote>}
        <div className="flex justify-end">
          <SubmitButton variant="accent" pending={create.isPending} disabled={name.trim() === ''}>
            Add
          </SubmitButton>
        </div>
      </form>
    </Dialog>
  );
}
