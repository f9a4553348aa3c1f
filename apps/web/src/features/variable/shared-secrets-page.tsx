'use client';
// Groups of secrets that several apps of a project share.
import { IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Field, Input } from '@fairlead/ui/input';
import { PageHeader } from '@fairlead/ui/page-header';
import { Skeleton } from '@fairlead/ui/skeleton';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation, useQuery } from '@tanstack/react-query';
import { KeyRound, Trash2 } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { SecretGroup } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { MeScope, useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { SecretRows } from './secret-rows.tsx';
import { useRefetchVariables } from './use-variable-calls.ts';

export function SharedSecretsPage() {
  const { paths, can } = useMe();
  const groups = useQuery(useTRPC().secret.listGroups.queryOptions());
  return (
    <Page>
      <PageHeader breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />} title="Shared groups" />
      <QueryView query={groups} skeleton={<Skeleton className="h-72" />}>
        {(list) => (
          <div className="flex flex-col gap-6">
            {list.map((group) => (
              <MeScope key={group.id} scope={{ projectId: group.projectId }}>
                <Group group={group} />
              </MeScope>
            ))}
            {list.length === 0 ? (
              <EmptyState icon={<KeyRound size={20} />} title="No shared groups yet">
                A group holds values that several apps use. Attach it under Environment variables of an app, or refer to
                one value of it by its group and name.
              </EmptyState>
            ) : null}
            {can('secret.write') ? <NewGroup /> : null}
          </div>
        )}
      </QueryView>
    </Page>
  );
}

function Group({ group }: { readonly group: SecretGroup }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const refetch = useRefetchVariables();
  const remove = useAction(useMutation(trpc.secret.deleteGroup.mutationOptions()), "The group wasn't deleted", refetch);
  const apps = group.apps.map(({ name }) => name).join(', ');
  return (
    <Card>
      <CardHeader
        title={group.name}
        detail={apps === '' ? `${group.projectName}, used by no app` : `${group.projectName}, used by ${apps}`}
        action={
          can('secret.write') && group.apps.length === 0 ? (
            <IconButton
              label={`Delete group ${group.name}`}
              size="small"
              onClick={() => remove.run({ groupId: group.id })}
            >
              <Trash2 size={15} aria-hidden="true" />
            </IconButton>
          ) : null
        }
      />
      <SecretRows owner={{ groupId: group.id }} secrets={group.secrets} />
    </Card>
  );
}

function NewGroup() {
  const trpc = useTRPC();
  const refetch = useRefetchVariables();
  const [name, setName] = useState('');
  const create = useAction(useMutation(trpc.secret.createGroup.mutationOptions()), "The group wasn't created", () => {
    setName('');
    refetch();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.run({ name });
  };
  return (
    <Card>
      <form onSubmit={submit} noValidate className="flex items-start gap-3 p-4">
        <Field label="New group" hint="Lower-case letters, digits and dashes, for example database" className="flex-1">
          {(control) => (
            <Input
              {...control}
              mono
              autoComplete="off"
              value={name}
              placeholder="database"
              onChange={(event) => setName(event.target.value.toLowerCase())}
            />
          )}
        </Field>
        <SubmitButton className="mt-[26px] h-9" pending={create.pending} disabled={name === ''}>
          Add
        </SubmitButton>
      </form>
    </Card>
  );
}
