'use client';
// A new app: one address decides everything, the rest has a working default and can be changed later.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import { PageHeader } from '@fairlead/ui/page-header';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import type { ServerSummary, SourceBranches } from '../../api/types.ts';
import { HoverLink } from '../../common/hover-link.tsx';
import { useMe } from '../../common/me.tsx';
import { Crumbs, Page } from '../../common/page.tsx';
import { QueryView } from '../../common/query-view.tsx';
import { suggestName } from './app-form.ts';
import { makeApp, type NewApp } from './make-app.ts';

export function NewAppPage() {
  const { paths } = useMe();
  const trpc = useTRPC();
  const servers = useQuery(trpc.server.list.queryOptions());
  return (
    <Page width="narrow">
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Apps', href: paths.apps }]} />}
        title="New app"
        detail="Fairlead clones the repository, builds it on the server, and sends traffic to it once it answers."
      />
      <QueryView query={servers} skeleton={<Skeleton className="h-[420px]" />}>
        {({ items }) => (items.length === 0 ? <NoServer /> : <NewAppForm servers={items} />)}
      </QueryView>
    </Page>
  );
}

function NewAppForm({ servers }: { readonly servers: readonly ServerSummary[] }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const client = useTRPCClient();
  // What was typed as a password is dropped as soon as it was sent.
  const create = useMutation({ mutationFn: (wanted: NewApp) => makeApp(client, wanted), gcTime: 0 });
  const [serverId, setServerId] = useState(() => (servers.find((each) => each.state === 'online') ?? servers[0])?.id);
  const [url, setUrl] = useState('');
  const [name, setName] = useState<string | null>(null);
  const [source, setSource] = useState<string | null>(null);
  const branches = useQuery({
    ...trpc.source.branches.queryOptions({ repositoryUrl: source ?? '' }),
    enabled: source !== null,
    retry: false,
  });
  const shownName = name ?? suggestName(url);
  const failure = create.error === null ? null : readFailure(create.error);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '').trim();
    const [branch, host, username] = [text('branch'), text('host'), text('username')];
    const password = String(form.get('password') ?? '');
    create.mutate(
      {
        app: {
          name: shownName,
          repositoryUrl: url.trim(),
          serverId: serverId ?? '',
          rootFolder: text('rootFolder'),
          branch: branch || branches.data?.defaultBranch || 'main',
          ...(host === '' ? {} : { host }),
        },
        builder: builders.find(({ value }) => value === text('builder'))?.value ?? 'auto',
        access: username === '' && password === '' ? null : { username, password },
        serverIds: form.getAll('further').map(String),
      },
      {
        onSuccess: ({ slug, deploymentId, left }) => {
          if (left !== null) {
            const detail = `${readFailure(left).message} Finish it in its settings, then press Deploy.`;
            toast({ tone: 'warn', title: 'The app is made, but not deployed', detail });
          }
          router.push(deploymentId === null ? paths.app(slug) : paths.deployment(deploymentId));
        },
      },
    );
  };

  return (
    <Card>
      <form onSubmit={submit} noValidate className="flex flex-col gap-5 p-5">
        <Field
          label="Git repository"
          hint="An address that this server can clone over https, without a password in it."
          error={failure?.fields.repositoryUrl}
        >
          {(control) => (
            <Input
              {...control}
              mono
              type="url"
              autoFocus
              required
              placeholder="https://github.com/you/your-app.git"
              value={url}
              onChange={(event) => setUrl(event.target.value)}
              onBlur={(event) => setSource(event.target.validity.valid ? event.target.value.trim() : null)}
            />
          )}
        </Field>
        <div className="grid grid-cols-1 gap-5 sm:grid-cols-2">
          <Field label="Name" error={failure?.fields.name}>
            {(control) => (
              <Input {...control} required value={shownName} onChange={(event) => setName(event.target.value)} />
            )}
          </Field>
          <Field label="Server" error={failure?.fields.serverId}>
            {(control) => (
              <Select
                {...control}
                value={serverId}
                onChange={(event) => setServerId(servers.find((each) => each.id === event.target.value)?.id)}
              >
                {servers.map((server) => (
                  <option key={server.id} value={server.id}>
                    {server.name}
                    {server.state === 'online' ? '' : ' (offline)'}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label="Branch" hint={branchHint(branches)} error={failure?.fields.branch}>
            {(control) => (
              <>
                <Input
                  {...control}
                  mono
                  name="branch"
                  list={`${control.id}-branches`}
                  placeholder={branches.data?.defaultBranch ?? 'main'}
                />
                <datalist id={`${control.id}-branches`}>
                  {branches.data?.branches.map((branch) => (
                    <option key={branch} value={branch} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
          <Field label="Root folder" hint="Empty: the whole repository." error={failure?.fields.rootFolder}>
            {(control) => <Input {...control} mono name="rootFolder" placeholder="apps/shop" />}
          </Field>
        </div>
        <Field
          label="Domain"
          hint="For now a name that ends in .localhost: public names get no certificate yet. You can add one later."
          error={failure?.fields.host}
        >
          {(control) => <Input {...control} mono name="host" placeholder="shop.localhost" />}
        </Field>
        <More servers={servers.filter((server) => server.id !== serverId)} />
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
        <div className="flex items-center justify-end gap-2">
          <HoverLink href={paths.apps} className={buttonClass('ghost')}>
            Cancel
          </HoverLink>
          <Button type="submit" variant="accent" pending={create.isPending}>
            Deploy
          </Button>
        </div>
      </form>
    </Card>
  );
}

const builders = [
  { value: 'auto', label: 'Detect it' },
  { value: 'native', label: 'By its language' },
] as const;

/** What most apps never need. The plan that was detected is shown on the deployment's page. */
function More({ servers }: { readonly servers: readonly ServerSummary[] }) {
  return (
    <details className="group rounded-control border border-line">
      <summary className="cursor-pointer select-none rounded-control px-4 py-2.5 font-medium hover:bg-hover">
        Private repository, builder{servers.length === 0 ? '' : ', more servers'}
      </summary>
      <div className="grid grid-cols-1 gap-5 border-line border-t p-4 sm:grid-cols-2">
        <Field label="User name" hint="Of a repository that is not public.">
          {(control) => <Input {...control} mono name="username" autoComplete="off" spellCheck={false} />}
        </Field>
        <Field label="Password or token" hint="One that may only read is enough.">
          {(control) => <Input {...control} name="password" type="password" autoComplete="new-password" />}
        </Field>
        <Field label="Builder" className="sm:col-span-2">
          {(control) => (
            <Select {...control} name="builder" defaultValue="auto">
              {builders.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {servers.length === 0 ? null : (
          <fieldset className="flex flex-col gap-2 sm:col-span-2">
            <legend className="mb-1.5 font-medium">Also run it on</legend>
            {servers.map((server) => (
              <Checkbox
                key={server.id}
                name="further"
                value={server.id}
                label={`${server.name}${server.state === 'online' ? '' : ' (offline)'}`}
              />
            ))}
          </fieldset>
        )}
      </div>
    </details>
  );
}

/** Suggestions only: an address that cannot be asked may still be cloned by the server. */
function branchHint({ data, isFetching }: { data: SourceBranches | undefined; isFetching: boolean }): string {
  if (isFetching) return 'Asking the repository for its branches…';
  if (data === undefined) return 'Empty: main.';
  const { branches, defaultBranch } = data;
  if (branches.length === 0) return 'This repository has no branch yet.';
  return `Empty: ${defaultBranch ?? 'main'}. ${branches.length === 1 ? 'One branch' : `${branches.length} branches`} to choose from.`;
}

function NoServer() {
  const { paths, can } = useMe();
  return (
    <Card>
      <EmptyState
        title="An app needs a server"
        action={
          can('server.enrol') ? (
            <HoverLink href={paths.addServer} className={buttonClass('accent')}>
              Add a server
            </HoverLink>
          ) : null
        }
      >
        Add a Linux machine by one command; then come back here.
      </EmptyState>
    </Card>
  );
}
