'use client';
// Saves the plan of the start dialog and its load servers under a name.
import { Button } from '@fairlead/ui/button';
import { Field, Input } from '@fairlead/ui/input';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Bookmark } from 'lucide-react';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs, SavedPlan, ServerSummary } from '../../api/types.ts';

export interface SavePlanProps {
  readonly appId: string;
  readonly plan: Inputs['benchmarkPlan']['create']['plan'];
  readonly loadServerIds: readonly ServerSummary['id'][];
  readonly disabled: boolean;
  readonly onSaved: (plan: SavedPlan) => void;
}

export function SavePlan({ appId, plan, loadServerIds, disabled, onSaved }: SavePlanProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const create = useMutation(trpc.benchmarkPlan.create.mutationOptions());
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const failure = create.error === null ? null : readFailure(create.error);
  const save = () =>
    create.mutate(
      { appId, name, plan, loadServerIds: [...loadServerIds] },
      {
        onSuccess: async ({ planId }) => {
          await queryClient.invalidateQueries(trpc.benchmarkPlan.pathFilter());
          const saved = await queryClient.fetchQuery(trpc.benchmarkPlan.get.queryOptions({ planId }));
          toast({ title: 'Plan saved', detail: `“${saved.name}” is under Benchmarks → Plans.` });
          onSaved(saved);
        },
      },
    );
  if (!isOpen) {
    return (
      <span>
        <Button disabled={disabled} icon={<Bookmark size={15} aria-hidden="true" />} onClick={() => setOpen(true)}>
          Save as plan
        </Button>
      </span>
    );
  }
  return (
    <div className="flex items-start gap-2">
      <Field
        label="Plan name"
        hint="Unique within the app."
        error={failure === null ? undefined : (failure.fields.name ?? failure.fields[''] ?? failure.message)}
      >
        {(control) => (
          <Input
            {...control}
            autoFocus
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.target.value)}
            onKeyDown={(event) => {
              // Enter would start the run.
              if (event.key !== 'Enter') return;
              event.preventDefault();
              save();
            }}
          />
        )}
      </Field>
      <Button className="mt-[26px] shrink-0" pending={create.isPending} disabled={disabled} onClick={save}>
        Save plan
      </Button>
    </div>
  );
}
