'use client';
// Configuration of an app in one environment, saved as one version. The next deployment applies it; servers apply
// scaling and traffic at once.
import { plural } from '@fairlead/ui/lib/format';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Skeleton } from '@fairlead/ui/skeleton';
import { StateMark } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Config, Settings } from '../../api/types.ts';
import { type AppPlacement, useAppInEnvironment } from '../../common/app/app-placement.ts';
import { fieldError } from '../../common/form/field-error.ts';
import { SaveBar } from '../../common/form/save-bar.tsx';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { BuildSection } from './build-section.tsx';
import { changesOf } from './draft.ts';
import { HistoryCard } from './history-card.tsx';
import { MountsSection, VariablesSection, WorkersSection } from './list-sections.tsx';
import { NetworkSection } from './network-section.tsx';
import { RolloutSection } from './rollout-section.tsx';
import { RunSection } from './run-section.tsx';
import { AutoscalingSection } from './scale-section.tsx';
import { ServersCard } from './servers-card.tsx';
import { TrafficSections } from './traffic-section.tsx';

export interface ConfigPageProps {
  readonly slug: string;
  readonly initial: AppDetail;
  /** Sections of other features for this environment. */
  readonly children: ReactNode;
}

export function ConfigPage({ slug, initial, children }: ConfigPageProps) {
  const trpc = useTRPC();
  const { app, placement } = useAppInEnvironment(slug, initial);
  const { environmentId } = app;
  const config = useQuery(trpc.config.get.queryOptions({ appId: app.id, environmentId }));
  return (
    <div className="flex max-w-[720px] flex-col gap-6">
      <QueryView query={config} skeleton={<Skeleton className="h-[32rem]" />}>
        {(data) =>
          placement === null ? null : (
            <>
              {/* A new version resets the form, because edits belong to the version they began with. */}
              <ConfigForm key={`${environmentId} ${data.number}`} app={app} placement={placement} config={data} />
              <ServersCard app={app} placement={placement} />
            </>
          )
        }
      </QueryView>
      {children}
      <HistoryCard appId={app.id} environmentId={environmentId} />
    </div>
  );
}

interface ConfigFormProps {
  readonly app: AppDetail;
  readonly placement: AppPlacement;
  readonly config: Config;
}

function ConfigForm({ app, placement, config }: ConfigFormProps) {
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useFreshMutation(trpc.config.update.mutationOptions());
  const [settings, setSettings] = useState<Settings>(config.settings);
  const failure = update.error === null || wasCancelled(update.error) ? null : readFailure(update.error);
  const draft = {
    settings,
    set: <Name extends keyof Settings>(name: Name, value: Settings[Name]) =>
      setSettings((all) => ({ ...all, [name]: value })),
    problem: (path: string) => (failure === null ? undefined : fieldError(failure.fields, 'settings', path)),
  };
  const { environmentId } = placement;
  const where = { projectId: app.projectId, environmentId };
  const readOnly = !can('app.write', where);
  // The app's frame already explains why a protected environment is read-only.
  const isExplained = placement.protected && !can('deployment.approve', where);
  const changes = changesOf(config.settings, settings);
  const changed = Object.keys(changes).length;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      { appId: app.id, environmentId, settings: changes },
      {
        onSuccess: ({ number }) => {
          toast({ title: `Saved as version ${number}`, detail: effectText(Object.keys(changes)) });
          void queryClient.invalidateQueries(trpc.config.pathFilter());
          void queryClient.invalidateQueries(trpc.app.pathFilter());
        },
      },
    );
  };
  return (
    <form onSubmit={submit} noValidate aria-label="Configuration" className="flex flex-col gap-6">
      <Version config={config} />
      <fieldset disabled={readOnly} className="flex min-w-0 flex-col gap-6">
        <BuildSection draft={draft} placement={placement} />
        <RunSection draft={draft} />
        <NetworkSection draft={draft} />
        <AutoscalingSection draft={draft} />
        <TrafficSections draft={draft} />
        <VariablesSection draft={draft} />
        <WorkersSection draft={draft} />
        <MountsSection draft={draft} />
        <RolloutSection draft={draft} />
      </fieldset>
      {readOnly && isExplained ? null : readOnly ? (
        <p className="text-ink-faint text-sm">
          Read-only. You need the permission “Create and change apps” to change these settings.
        </p>
      ) : (
        <SaveBar
          changed={changed}
          pending={update.isPending}
          failure={failure}
          onDiscard={() => void queryClient.resetQueries(trpc.config.get.queryFilter({ appId: app.id, environmentId }))}
        />
      )}
    </form>
  );
}

const AT_ONCE = new Set(['autoscaling', 'traffic']);

function effectText(changed: readonly string[]): string {
  return changed.every((name) => AT_ONCE.has(name))
    ? 'Servers apply it now.'
    : 'Takes effect with the next deployment.';
}

function Version({ config }: { readonly config: Config }) {
  const { number, createdAt, authorName, notDeployed } = config;
  return (
    <div className="flex flex-col gap-3">
      <p className="text-ink-soft">
        {number === 0 ? (
          'Using defaults.'
        ) : (
          <>
            Version {number}, saved by {authorName ?? 'a program'}{' '}
            {createdAt === null ? null : <RelativeTime at={createdAt} />}.
          </>
        )}
      </p>
      {notDeployed.length === 0 ? null : (
        <p className="flex items-baseline gap-2.5 rounded-card bg-warn-wash px-4 py-3">
          <StateMark tone="warn" />
          <span className="min-w-0 text-pretty">
            {plural(notDeployed.length, 'setting is', 'settings are')} not live yet:{' '}
            <span className="wrap-anywhere font-mono text-sm">{notDeployed.join(', ')}</span>. The next deployment
            applies them.
          </span>
        </p>
      )}
    </div>
  );
}
