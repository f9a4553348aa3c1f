'use client';
// Changes the name, the content and the load servers of a saved plan; of one from the repository, only the load servers.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { SavedPlan, ServerSummary } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { FormNote } from './form-note.tsx';
import { LoadServerFields } from './load-server-fields.tsx';
import { PLAN_FILE } from './plan-document.ts';
import { draftOf, type PlanDraft, planOf, withLoadServers } from './plan-draft.ts';
import { PlanFields } from './plan-fields.tsx';
import { usePlanErrors } from './use-plan-errors.ts';

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
  const { plan } = planOf(draft);
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
  const input = { name, plan, loadServerIds };
  const errors = usePlanErrors(draft, input, !isFromRepository);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!errors.check()) return;
    update.mutate(
      {
        ...{ planId: saved.id, version: saved.version },
        ...(isFromRepository ? {} : { name, plan }),
        ...(isFromRepository || areServersChanged ? { loadServerIds } : {}),
      },
      {
        onError: (error) => errors.refuse(error),
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
          <SubmitButton variant="accent" form={formId} pending={update.isPending}>
            Save plan
          </SubmitButton>
        </>
      }
    >
      <form ref={errors.form} id={formId} noValidate onSubmit={submit} className="flex flex-col gap-4">
        {isFromRepository ? null : (
          <>
            <Field label="Name" error={errors.fields.name}>
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
              errorOf={errors.errorOf}
              attempt={errors.attempt}
            />
          </>
        )}
        <LoadServerFields
          plan={plan}
          ownServerId={app?.serverId}
          chosen={loadServerIds}
          savedServers={saved.loadServers}
          error={errors.fields.loadServerIds}
          // The dialog of any other plan has other fields.
          withoutServers={isFromRepository ? <NoServers /> : null}
          onChosen={chooseServers}
        />
        <FormNote note={errors.note} />
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
