'use client';
// Changes the name and the content of a saved plan.
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
import type { SavedPlan } from '../../api/types.ts';
import { draftOf, planOf } from './plan-draft.ts';
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
  const failure = update.error === null ? null : readFailure(update.error);
  const { plan, isComplete } = planOf(draft);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      { planId: saved.id, version: saved.version, name, plan },
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
      detail={`Benchmark plan of ${saved.appName} in ${saved.environmentName}.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton variant="accent" form={formId} pending={update.isPending} disabled={!isComplete}>
            Save plan
          </SubmitButton>
        </>
      }
    >
      <form id={formId} noValidate onSubmit={submit} className="flex flex-col gap-4">
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
          hosts={apps?.items.find(({ id }) => id === saved.appId)?.hosts ?? []}
          onDraft={setDraft}
          errorOf={errorsBelow(failure?.fields ?? {}, 'plan')}
        />
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
      </form>
    </Dialog>
  );
}
