'use client';
// Environments of the organization's projects, with their number of apps and their protection; creates new ones.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox, Field, Input } from '@fairlead/ui/input';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { StateText } from '@fairlead/ui/state-pill';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Environment } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { DeleteEnvironment } from './delete-environment.tsx';
import { PROTECTION, useUpdateProtection } from './protection.ts';

/** `children` renders below the environments. */
export function EnvironmentsPage({ children }: { readonly children: ReactNode }) {
  const { plural } = useFormats();
  const { can, paths } = useMe();
  const environments = useQuery(useTRPC().environment.list.queryOptions());
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />}
        title="Environments"
        detail="Stages of the same apps, each with its own servers, settings, secrets and domains."
      />
      <QueryView query={environments} skeleton={<SkeletonRows rows={4} />}>
        {({ items }) => (
          <div className="flex flex-col gap-6">
            {[...Map.groupBy(items, ({ projectId }) => projectId)].map(([projectId, group]) => (
              <Card key={projectId}>
                <CardHeader title={group[0]?.projectName ?? ''} detail={plural(group.length, 'environment')} />
                <ul>
                  {group.map((environment) => (
                    <EnvironmentRow key={environment.id} environment={environment} />
                  ))}
                </ul>
                {can('environment.write') ? <NewEnvironment projectId={projectId} /> : null}
              </Card>
            ))}
            {children}
          </div>
        )}
      </QueryView>
    </Page>
  );
}

function EnvironmentRow({ environment }: { readonly environment: Environment }) {
  const { plural } = useFormats();
  const { can } = useMe();
  const protect = useUpdateProtection();
  const { id, name, projectId, appCount, isFirst, protected: isProtected } = environment;
  const mayWrite = can('environment.write', { projectId, environmentId: id });
  return (
    <li className="flex min-h-14 flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-2.5">
      <span className="min-w-0 flex-1 basis-40">
        <span className="block truncate font-medium">{name}</span>
        <span className="block text-ink-faint text-sm">
          {appCount === 0 ? "No app yet: add one from the menu beside an app's name" : plural(appCount, 'app')}
        </span>
      </span>
      {isProtected ? <StateText tone="ok">Protected</StateText> : null}
      {mayWrite ? (
        <Button
          size="small"
          variant={isProtected ? 'danger-outline' : 'plain'}
          aria-label={isProtected ? `Stop protecting ${name}` : `Protect ${name}`}
          title={PROTECTION}
          pending={protect.pending}
          onClick={() => protect.run({ environmentId: id, protected: !isProtected })}
        >
          {isProtected ? 'Stop protecting' : 'Protect'}
        </Button>
      ) : null}
      {mayWrite && appCount === 0 && !isFirst ? <DeleteEnvironment environment={environment} /> : null}
    </li>
  );
}

function NewEnvironment({ projectId }: { readonly projectId: string }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const create = useMutation(trpc.environment.create.mutationOptions());
  const failure = create.error === null ? null : readFailure(create.error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    const name = String(form.get('name') ?? '').trim();
    create.mutate(
      { projectId, name, protected: form.has('protected') },
      {
        onSuccess: () => {
          element.reset();
          void queryClient.invalidateQueries(trpc.environment.pathFilter());
          toast({ title: `${name} created`, detail: 'Add an app to it from the menu beside the name of the app.' });
        },
      },
    );
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-wrap items-start gap-x-4 gap-y-3 border-line border-t p-4">
      <Field
        label="New environment"
        error={failure === null ? undefined : (failure.fields.name ?? failure.message)}
        className="flex-1 basis-48 max-sm:basis-full"
      >
        {(control) => <Input {...control} name="name" required placeholder="Staging" autoComplete="off" />}
      </Field>
      <Checkbox name="protected" label="Protected" className="h-9 sm:mt-[26px]" />
      <SubmitButton className="h-9 max-sm:ml-auto sm:mt-[26px]" pending={create.isPending}>
        Create
      </SubmitButton>
    </form>
  );
}
