'use client';
// Dialog of a move: the target project, an environment for each of the app's, what blocks the move and what it changes.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Select } from '@fairlead/ui/input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Outputs, Project } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { mapByName } from './move-mapping.ts';

type Move = Outputs['app']['getMove'];

export interface MoveAppDialogProps {
  readonly app: AppDetail;
  readonly targets: readonly Project[];
  readonly onClose: () => void;
}

export function MoveAppDialog({ app, targets, onClose }: MoveAppDialogProps) {
  const trpc = useTRPC();
  // Contents are read when the dialog opens: an older answer could miss an environment.
  const move = useQuery({ ...trpc.app.getMove.queryOptions({ appId: app.id }), gcTime: 0, staleTime: 0 });
  if (move.data !== undefined && reasonsOf(move.data).length === 0) {
    return <MoveForm app={app} move={move.data} targets={targets} onClose={onClose} />;
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Move ${app.name} to another project`}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <QueryView query={move} skeleton={<Skeleton className="h-24 w-full" />}>
        {(data) => (
          <div className="flex flex-col gap-3 text-ink-soft">
            <p>{app.name} can't move yet:</p>
            <ul className="list-disc space-y-1 pl-5">
              {reasonsOf(data).map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
          </div>
        )}
      </QueryView>
    </Dialog>
  );
}

const list = new Intl.ListFormat('en', { type: 'conjunction' });

function reasonsOf({ underWay, secretGroups, volumes, sharedHosts }: Move): string[] {
  return [
    ...(underWay ? ['A deployment is waiting or under way. Wait for it or cancel it.'] : []),
    ...(secretGroups.length === 0
      ? []
      : [
          `It uses shared groups of its project: ${list.format(secretGroups)}. Detach them under Environment variables.`,
        ]),
    ...(volumes.length === 0
      ? []
      : [
          `Its volumes stay with their environment: ${list.format(volumes)}. Remove them from its configuration, deploy, and delete them.`,
        ]),
    ...(sharedHosts.length === 0
      ? []
      : [`Other apps also use ${list.format(sharedHosts)}. Detach the domains of one app.`]),
  ];
}

interface MoveFormProps extends MoveAppDialogProps {
  readonly move: Move;
}

function MoveForm({ app, move, targets, onClose }: MoveFormProps) {
  const formId = useId();
  const { paths } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const router = useRouter();
  const queryClient = useQueryClient();
  const [target, setTarget] = useState(targets[0]);
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map());
  const run = useFreshMutation(trpc.app.move.mutationOptions());
  const error = run.error === null || wasCancelled(run.error) ? null : readFailure(run.error).message;
  const environments = target?.environments ?? [];
  const defaults = mapByName(
    move.environments.map(({ environmentId, environmentName }) => ({ id: environmentId, name: environmentName })),
    environments,
  );
  const targetOf = (from: string) => chosen.get(from) ?? defaults?.get(from) ?? '';

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (target === undefined) return;
    run.mutate(
      {
        appId: app.id,
        projectId: target.id,
        environments: move.environments.flatMap(({ environmentId: from }) => {
          const to = environments.find(({ id }) => id === targetOf(from))?.id;
          return to === undefined ? [] : [{ from, to }];
        }),
      },
      {
        onSuccess: ({ slug }) => {
          onClose();
          toast({ title: `${app.name} moved to ${target.name}` });
          void queryClient.invalidateQueries();
          router.push(paths.appSettings(slug));
        },
      },
    );
  };

  return (
    <Dialog
      open
      onClose={onClose}
      title={`Move ${app.name} to another project`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton form={formId} variant="accent" pending={run.isPending} disabled={defaults === null}>
            Move {app.name}
          </SubmitButton>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Field label="Project">
          {(control) => (
            <Select
              {...control}
              autoFocus
              value={target?.id}
              onChange={(event) => {
                setTarget(targets.find(({ id }) => id === event.target.value));
                setChosen(new Map());
              }}
            >
              {targets.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {defaults === null ? (
          <p className="text-ink-soft">
            {target?.name} has too few environments: the app needs {move.environments.length}.{' '}
            <HoverLink href={paths.environments} className="underline underline-offset-2">
              Create environments
            </HoverLink>
          </p>
        ) : (
          move.environments.map(({ environmentId, environmentName, runs }) => (
            <Field
              key={environmentId}
              label={`From ${environmentName} to`}
              hint={runs ? null : 'The app no longer runs there. Its history, settings and secrets move too.'}
            >
              {(control) => (
                <Select
                  {...control}
                  value={targetOf(environmentId)}
                  onChange={(event) => setChosen(new Map(chosen).set(environmentId, event.target.value))}
                >
                  {environments.map((each) => (
                    <option key={each.id} value={each.id}>
                      {each.name}
                      {each.protected ? ' (protected)' : ''}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
          ))
        )}
        <ul className="list-disc space-y-1 pl-5 text-ink-soft">
          <li>
            Roles and API tokens of {app.projectName} no longer open it; those of {target?.name} do, at once.
          </li>
          {app.liveRelease === null ? null : (
            <li>It restarts on its servers. Visitors get an error until the first new instance is healthy.</li>
          )}
          <li>Domains, settings, secrets, releases and history move too. Logs of the running app start empty.</li>
        </ul>
        {error === null ? null : <ErrorNote>{error}</ErrorNote>}
      </form>
    </Dialog>
  );
}
