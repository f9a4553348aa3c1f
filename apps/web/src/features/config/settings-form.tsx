'use client';
// Form of one section of an app's settings in one environment: loads the settings, saves what changed, and tells when it
// takes effect. Saved settings make one version.
import { useFormats } from '@fairlead/ui/formats';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { type FormEvent, type ReactNode, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Settings } from '../../api/types.ts';
import { type AppPlacement, useAppInEnvironment } from '../../common/app/app-placement.ts';
import { fieldError } from '../../common/form/field-error.ts';
import { SaveBar } from '../../common/form/save-bar.tsx';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { changeLines, effectText, type SettingsValues } from './changes.ts';
import { appChangesOf, appFieldsOf, changesOf, type Draft } from './draft.ts';

const ChangeList = dynamic(() => import('./change-list.tsx').then((module) => module.ChangeList), { ssr: false });

// The server renders it too, so that the page doesn't move when the code arrives.
const NotDeployed = dynamic(() => import('./not-deployed.tsx').then((module) => module.NotDeployed));

export interface SettingsPageProps {
  readonly slug: string;
  /** Initial data from the server; the query cache takes over. */
  readonly initial: AppDetail;
}

export interface SectionProps {
  readonly draft: Draft;
  readonly app: AppDetail;
  readonly placement: AppPlacement;
}

interface SettingsFormProps extends SettingsPageProps {
  /** Name of the form for screen readers. */
  readonly title: string;
  /** Cards above the form. */
  readonly lead?: ReactNode;
  readonly children: (section: SectionProps) => ReactNode;
}

export function SettingsForm({ slug, initial, title, lead, children }: SettingsFormProps) {
  const trpc = useTRPC();
  const { app, placement } = useAppInEnvironment(slug, initial);
  const { environmentId } = app;
  const config = useQuery(trpc.config.get.queryOptions({ appId: app.id, environmentId }));
  const [discards, setDiscards] = useState(0);
  // Values under edit stay until they are saved or discarded, also when another member saves meanwhile.
  const [held, setHeld] = useState<OfEnvironment<SettingsValues> | null>(null);
  const [result, setResult] = useState<OfEnvironment<string> | null>(null);
  const here = <Value,>(of: OfEnvironment<Value> | null) => (of?.environmentId === environmentId ? of.value : null);
  return (
    <>
      {/* The form is replaced by one with the saved values, so screen readers would not hear it. */}
      <p role="status" className="sr-only">
        {here(result) === null ? '' : 'Settings saved'}
      </p>
      <QueryView query={config} skeleton={<Skeleton className="h-80" />}>
        {(data) => {
          if (placement === null) return null;
          const saved = here(held) ?? { settings: data.settings, app: appFieldsOf(app, data) };
          return (
            <>
              {data.notDeployed.length === 0 ? null : <NotDeployed app={app} config={data} />}
              {lead}
              <OpenForm
                key={`${environmentId} ${discards} ${JSON.stringify(saved)}`}
                title={title}
                app={app}
                placement={placement}
                saved={saved}
                live={data.live?.settings ?? null}
                result={here(result)}
                onEdit={() => {
                  setHeld({ environmentId, value: saved });
                  setResult(null);
                }}
                onSaved={(text) => {
                  setHeld(null);
                  setResult({ environmentId, value: text });
                }}
                onDiscard={() => {
                  setHeld(null);
                  setDiscards(discards + 1);
                }}
              >
                {children}
              </OpenForm>
            </>
          );
        }}
      </QueryView>
    </>
  );
}

/** The menu of environments keeps the page, so what belongs to one environment says so. */
interface OfEnvironment<Value> {
  readonly environmentId: string;
  readonly value: Value;
}

interface OpenFormProps extends Pick<SettingsFormProps, 'title' | 'children'> {
  readonly app: AppDetail;
  readonly placement: AppPlacement;
  readonly saved: SettingsValues;
  readonly live: Settings | null;
  readonly result: string | null;
  readonly onEdit: () => void;
  readonly onSaved: (result: string) => void;
  readonly onDiscard: () => void;
}

function OpenForm({ title, app, placement, saved, live, result, onEdit, onSaved, onDiscard, children }: OpenFormProps) {
  const { can } = useMe();
  const formats = useFormats();
  const [draft, setDraft] = useState(saved);
  const { save, pending, failure } = useSave({ app, saved, draft, onSaved });
  const where = { projectId: app.projectId, environmentId: placement.environmentId };
  const readOnly = !can('app.write', where);
  // The app's frame already explains why a protected environment is read-only.
  const isExplained = placement.protected && !can('deployment.approve', where);
  const lines = changeLines(saved, draft, formats);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save();
  };
  const edit = (change: (all: SettingsValues) => SettingsValues) => {
    onEdit();
    setDraft(change);
  };
  const section: Draft = {
    settings: draft.settings,
    set: (name, value) => edit((all) => ({ ...all, settings: { ...all.settings, [name]: value } })),
    problem: (path) => (failure === null ? undefined : fieldError(failure.fields, 'settings', path)),
    app: draft.app,
    setApp: (name, value) => edit((all) => ({ ...all, app: { ...all.app, [name]: value } })),
    appProblem: (name) => failure?.fields[name],
  };
  return (
    <form onSubmit={submit} noValidate aria-label={title} className="flex flex-col gap-6">
      <fieldset disabled={readOnly} className="flex min-w-0 flex-col gap-6">
        {children({ draft: section, app, placement })}
      </fieldset>
      {readOnly && isExplained ? null : readOnly ? (
        <p className="text-ink-faint text-sm">
          Read-only. You need the permission “Create and change apps” to change these settings.
        </p>
      ) : (
        <SaveBar
          changed={lines.length}
          pending={pending}
          failure={failure}
          onDiscard={onDiscard}
          detail={effectText(lines.map(({ effect }) => effect))}
          saved={result}
        >
          {lines.length === 0 ? null : <ChangeList lines={lines} saved={saved.settings} live={live} />}
        </SaveBar>
      )}
    </form>
  );
}

interface SaveInput {
  readonly app: AppDetail;
  readonly saved: SettingsValues;
  readonly draft: SettingsValues;
  readonly onSaved: (result: string) => void;
}

/** Saves with up to three calls. A failed call ends it; what was saved before it stays saved. */
function useSave({ app, saved, draft, onSaved }: SaveInput) {
  const trpc = useTRPC();
  const formats = useFormats();
  const queryClient = useQueryClient();
  const updateApp = useMutation(trpc.app.update.mutationOptions());
  const scale = useMutation(trpc.app.scale.mutationOptions());
  const updateConfig = useFreshMutation(trpc.config.update.mutationOptions());
  const where = { appId: app.id, environmentId: app.environmentId };
  const save = useMutation({
    mutationFn: async () => {
      const [fields, settings] = [appChangesOf(saved.app, draft.app), changesOf(saved.settings, draft.settings)];
      if (Object.keys(fields).length > 0) await updateApp.mutateAsync({ ...where, ...fields });
      if (draft.app.instances !== saved.app.instances) {
        await scale.mutateAsync({ ...where, instances: draft.app.instances });
      }
      const config = Object.keys(settings).length === 0 ? null : await updateConfig.mutateAsync({ ...where, settings });
      return config?.number ?? null;
    },
    onSuccess: (version) => {
      const effect = effectText(changeLines(saved, draft, formats).map((line) => line.effect));
      onSaved(`${version === null ? 'Saved' : `Saved as version ${version}`}. ${effect}`);
    },
    onSettled: () => {
      void queryClient.invalidateQueries(trpc.config.pathFilter());
      void queryClient.invalidateQueries(trpc.app.pathFilter());
    },
  });
  return {
    save: () => save.mutate(),
    pending: save.isPending,
    failure: save.error === null || wasCancelled(save.error) ? null : readFailure(save.error),
  };
}
