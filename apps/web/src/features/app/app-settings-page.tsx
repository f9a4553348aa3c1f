'use client';
// Settings of an app: its source and its run configuration, with a note on when changes take effect.
import { commandLine, commandOf } from '@fairlead/core/kernel/command';
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import type { FormEvent, ReactNode } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { useMe } from '../../common/organization/me.tsx';
import { DeleteAppCard } from './delete-app-card.tsx';
import { RemoveFromEnvironmentCard } from './remove-from-environment-card.tsx';

export interface AppSettingsPageProps {
  readonly slug: string;
  readonly initial: AppDetail;
  /** Sections between the settings and the deletion. */
  readonly children: ReactNode;
}

export function AppSettingsPage({ slug, initial, children }: AppSettingsPageProps) {
  const { can } = useMe();
  const { app, linkEnvironmentId } = useAppInEnvironment(slug, initial);
  return (
    <div className="flex max-w-[720px] flex-col gap-6">
      <SettingsForm
        key={app.environmentId}
        app={app}
        linkEnvironmentId={linkEnvironmentId}
        readOnly={!can('app.write', { projectId: app.projectId })}
      />
      {children}
      {!app.isPrimary && can('app.delete', app) ? (
        <RemoveFromEnvironmentCard key={app.environmentId} app={app} />
      ) : null}
      {can('app.delete', { projectId: app.projectId }) ? <DeleteAppCard app={app} /> : null}
    </div>
  );
}

interface SettingsFormProps {
  readonly app: AppDetail;
  readonly linkEnvironmentId: string | undefined;
  readonly readOnly: boolean;
}

function SettingsForm({ app, linkEnvironmentId, readOnly }: SettingsFormProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useMutation(trpc.app.update.mutationOptions());
  const failure = update.error === null ? null : readFailure(update.error);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '').trim();
    update.mutate(
      {
        appId: app.id,
        environmentId: app.environmentId,
        name: text('name'),
        ...(text('repositoryUrl') === app.repositoryUrl ? {} : { repositoryUrl: text('repositoryUrl') }),
        branch: text('branch'),
        rootFolder: text('rootFolder'),
        healthPath: text('healthPath'),
        ...(text('command') === commandLine(app.command) ? {} : { command: commandOf(text('command')) }),
      },
      {
        onSuccess: (saved) => {
          toast({ title: 'Settings saved', detail: 'Takes effect with the next deployment.' });
          void queryClient.invalidateQueries(trpc.app.pathFilter());
          if (saved.slug !== app.slug) router.replace(paths.appSettings(saved.slug, linkEnvironmentId));
        },
      },
    );
  };

  return (
    <Card>
      <CardHeader title="Build and run" detail="Takes effect with the next deployment" />
      <form onSubmit={submit} noValidate className="border-line border-t">
        <fieldset disabled={readOnly} className="grid grid-cols-1 gap-5 p-4 sm:grid-cols-2">
          <Field label="Name" error={failure?.fields.name}>
            {(control) => <Input {...control} name="name" defaultValue={app.name} />}
          </Field>
          <Field
            label={app.placements.length > 1 ? `Branch of ${app.environmentName}` : 'Branch'}
            hint="Default: the repository's default branch"
            error={failure?.fields.branch}
          >
            {(control) => <Input {...control} mono name="branch" defaultValue={app.branch} />}
          </Field>
          <Field
            label="Git repository"
            hint={app.repositoryUrl === '' ? 'None: this app uses an image or uploaded folders.' : null}
            error={failure?.fields.repositoryUrl}
            className="sm:col-span-2"
          >
            {(control) => <Input {...control} mono name="repositoryUrl" defaultValue={app.repositoryUrl} />}
          </Field>
          <Field label="Root folder" hint="Default: repository root" error={failure?.fields.rootFolder}>
            {(control) => <Input {...control} mono name="rootFolder" defaultValue={app.rootFolder} />}
          </Field>
          <Field
            label="Health path"
            hint="Must return 2xx or 3xx. Default: TCP connection"
            error={failure?.fields.healthPath}
          >
            {(control) => (
              <Input {...control} mono name="healthPath" defaultValue={app.healthPath} placeholder="/healthz" />
            )}
          </Field>
          <Field
            label="Start command"
            hint="Runs in a shell if it has quotes, variables or &&. Default: detected"
            error={failure?.fields.command}
            className="sm:col-span-2"
          >
            {(control) => (
              <Input
                {...control}
                mono
                name="command"
                defaultValue={commandLine(app.command)}
                placeholder="node server.js"
              />
            )}
          </Field>
          {failure === null || Object.keys(failure.fields).length > 0 ? null : (
            <ErrorNote className="sm:col-span-2">{failure.message}</ErrorNote>
          )}
        </fieldset>
        {readOnly ? null : (
          <footer className="flex justify-end border-line border-t px-4 py-3">
            <SubmitButton variant="accent" pending={update.isPending}>
              Save
            </SubmitButton>
          </footer>
        )}
      </form>
    </Card>
  );
}
