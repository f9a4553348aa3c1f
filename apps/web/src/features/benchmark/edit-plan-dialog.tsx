'use client';
// Changes the name, the content and the load servers of a saved plan; of one from the repository, only the load servers.
import { distributionFaults } from '@fairlead/core/benchmark/distribution';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { SavedPlan, ServerSummary } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { LoadServerFields } from './load-server-fields.tsx';
import { PLAN_FILE } from './plan-document.ts';
import { draftOf, type PlanDraft, planOf, withLoadServers } from './plan-draft.ts';
import { errorsBelow, PlanFields } from './plan-fields.tsx';

const APPS_SHOWN = 100;

export interface EditPlanDialogProps {
  readonly plan: SavedPlan;
  readonly onClose: () => void;
}

export function EditPlanDialog({ plan: saved, onClose }: EditPlanDialogProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const formId = useId();
  const update = useMutation(trpc.benchmarkPlan.update.mutationOptions());
  const apps = useQuery(trpc.app.list.queryOptions({ limit: APPS_SHOWN })).data;
  const [name, setName] = useState(saved.name);
  const [draft, setDraft] = useState(() => draftOf(saved.plan));
  const [loadServerIds, setLoadServerIds] = useState(() => saved.loadServers.map(({ serverId }) => serverId));
  const failure = update.error === null ? null : readFailure(update.error);
  const { plan, isComplete } = planOf(draft);
  const { isFromRepository } = saved;
  const app = apps?.items.find(({ id }) => id === saved.appId);
  const isDistributed = loadServerIds.length > 0;
  const change = (next: PlanDraft) => setDraft(isDistributed ? withLoadServers(next) : next);
  const chooseServers = (serverIds: readonly ServerSummary['id'][]) => {
    setLoadServerIds([...serverIds]);
    if (serverIds.length > 0 && !isFromRepository) setDraft(withLoadServers(draft));
  };
  // An update without load servers doesn't check them, so a deleted one blocks no other change.
  const areServersChanged = loadServerIds.join() !== saved.loadServers.map(({ serverId }) => serverId).join();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      {
        ...{ planId: saved.id, version: saved.version },
        ...(isFromRepository ? {} : { name, plan }),
        ...(isFromRepository || areServersChanged ? { loadServerIds } : {}),
      },
      {
        onSuccess: () => {
          toast({ title: 'Plan saved', detail: 'Later runs use it. Earlier ones keep the plan they began with.' });
          onClose();
        },
        // Also after a refusal, which may have come from a change of another member.
        onSettled: () => void queryClient.invalidateQueries(trpc.benchmarkPlan.pathFilter()),
      },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Edit ${saved.name}`}
      detail={`Benchmark plan of ${saved.appName} in ${saved.environmentName}.${isFromRepository ? ` Change its load in ${PLAN_FILE} in the repository, and its load servers here.` : ''}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton
            variant="accent"
            form={formId}
            pending={update.isPending}
            disabled={!isComplete || distributionFaults(plan, loadServerIds.length).length > 0}
          >
            Save plan
          </SubmitButton>
        </>
      }
    >
      <form id={formId} noValidate onSubmit={submit} className="flex flex-col gap-4">
        {isFromRepository ? null : (
          <>
            <Field label="Name" error={failure?.fields.name}>
              {(control) => (
                <Input
                  {...control}
                  autoFocus
                  maxLength={60}
                  value={name}
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
            <PlanFields
              draft={draft}
              hosts={app?.hosts ?? []}
              isDistributed={isDistributed}
              onDraft={change}
              errorOf={errorsBelow(failure?.fields ?? {}, 'plan')}
            />
          </>
        )}
        <LoadServerFields
          plan={plan}
          ownServerId={app?.serverId}
          chosen={loadServerIds}
          savedServers={saved.loadServers}
          error={failure?.fields.loadServerIds}
          // The dialog of any other plan has other fields.
          withoutServers={isFromRepository ? <NoServers /> : null}
          onChosen={chooseServers}
        />
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
      </form>
    </Dialog>
  );
}

function NoServers() {
  const { paths, can } = useMe();
  if (!can('server.enrol')) return <p>This organization has no other server. Ask an owner to add one.</p>;
  return (
    <p>
      This organization has no other server.{' '}
      <HoverLink href={paths.addServer} className="rounded-mark text-ink underline">
        Add a server
      </HoverLink>
      , then choose it here.
    </p>
  );
}
