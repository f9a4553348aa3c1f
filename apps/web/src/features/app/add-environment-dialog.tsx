'use client';
// Adds an app to another environment in one call: the environment, the server, the domain and the first release.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { usePathname, useRouter } from 'next/navigation';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { openServers, ServerOptions } from '../../common/server/server-options.tsx';
import { fieldOfAddedEnvironment, formErrors } from './form-errors.ts';

const NEW = 'new';

export function AddEnvironmentDialog({ app, onClose }: { readonly app: AppDetail; readonly onClose: () => void }) {
  const formId = useId();
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const router = useRouter();
  const pathname = usePathname();
  const environments = useQuery(trpc.environment.list.queryOptions()).data?.items;
  const servers = openServers(useQuery(trpc.server.list.queryOptions()).data?.items ?? []);
  const open = (environments ?? []).filter(
    ({ id, projectId }) =>
      projectId === app.projectId && !app.placements.some(({ environmentId }) => environmentId === id),
  );
  // Creating an environment needs the permission in the whole organization.
  const mayCreate = can('environment.write', {});
  const [chosen, setChosen] = useState('');
  const [serverId, setServerId] = useState<string>(app.serverId);
  const choice = chosen || (open[0]?.id ?? NEW);
  const add = useFreshMutation(trpc.app.addEnvironment.mutationOptions());
  const failure = add.error === null || wasCancelled(add.error) ? null : readFailure(add.error);
  const { fields: errors, note } = formErrors(failure, fieldOfAddedEnvironment);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '').trim();
    const [branch, host, first] = [text('branch'), text('host'), text('first')];
    add.mutate(
      {
        appId: app.id,
        environment:
          choice === NEW
            ? { kind: 'new', name: text('name'), protected: form.has('protected') }
            : { kind: 'existing', environmentId: choice },
        serverIds: [serverId],
        ...(branch === '' ? {} : { branch }),
        ...(host === '' ? {} : { domain: { host } }),
        firstDeploy:
          first === 'release' && app.liveRelease !== null
            ? { releaseId: app.liveRelease.id }
            : first === 'branch'
              ? 'deploy'
              : 'none',
      },
      {
        onSuccess: ({ environmentId, deploymentId }) => {
          onClose();
          void queryClient.invalidateQueries(trpc.environment.pathFilter());
          void queryClient.invalidateQueries(trpc.app.pathFilter());
          router.push(
            deploymentId === null ? `${pathname}?environment=${environmentId}` : paths.deployment(deploymentId),
          );
        },
      },
    );
  };

  return (
    <Dialog
      open
      onClose={onClose}
      title={`Add ${app.name} to an environment`}
      detail={`It starts with the settings of ${app.placements[0]?.environmentName ?? app.environmentName}. Secrets, volumes and domains are its own.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton form={formId} variant="accent" pending={add.isPending} disabled={environments === undefined}>
            Add
          </SubmitButton>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Field label="Environment" error={errors.environmentId}>
          {(control) => (
            <Select {...control} value={choice} onChange={(event) => setChosen(event.target.value)}>
              {open.map(({ id, name, protected: isProtected }) => (
                <option key={id} value={id}>
                  {name}
                  {isProtected ? ' (protected)' : ''}
                </option>
              ))}
              {mayCreate || open.length === 0 ? <option value={NEW}>New environment…</option> : null}
            </Select>
          )}
        </Field>
        {choice === NEW ? (
          <>
            <Field label="Name" error={errors.name}>
              {(control) => <Input {...control} name="name" required placeholder="Staging" />}
            </Field>
            <Checkbox name="protected" label="Protected: changes need approval" />
          </>
        ) : null}
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <Field label="Server" error={errors.serverId}>
            {(control) => (
              <Select {...control} value={serverId} onChange={(event) => setServerId(event.target.value)}>
                <ServerOptions servers={servers} />
              </Select>
            )}
          </Field>
          {app.repositoryUrl === '' ? null : (
            <Field label="Branch" error={errors.branch}>
              {(control) => <Input {...control} mono name="branch" placeholder={app.branch || 'default branch'} />}
            </Field>
          )}
        </div>
        <Field label="Domain" hint="You can add one later." error={errors.host}>
          {(control) => <Input {...control} mono name="host" placeholder={`${app.slug}-staging.localhost`} />}
        </Field>
        <Field label="First release">
          {(control) => (
            <Select {...control} name="first">
              {app.liveRelease === null ? null : <option value="release">Live release of {app.environmentName}</option>}
              {app.repositoryUrl === '' && app.image === null ? null : (
                <option value="branch">{app.image === null ? 'Newest commit of the branch' : 'Image'}</option>
              )}
              <option value="later">Don't deploy yet</option>
            </Select>
          )}
        </Field>
        {note === null ? null : <ErrorNote>{note}</ErrorNote>}
      </form>
    </Dialog>
  );
}
