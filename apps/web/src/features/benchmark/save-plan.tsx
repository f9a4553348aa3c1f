'use client';
// Saves the plan of the start dialog and its load servers under a name.
import { Button } from '@fairlead/ui/button';
import { Field, Input } from '@fairlead/ui/input';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Bookmark } from 'lucide-react';
import { useState } from 'react';
import { type Failure, readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs, SavedPlan, ServerSummary } from '../../api/types.ts';

export interface SavePlanProps {
  readonly appId: string;
  readonly plan: Inputs['benchmarkPlan']['create']['plan'];
  readonly loadServerIds: readonly ServerSummary['id'][];
  /** Reports whether the form has no error, and shows those that it has. */
  readonly check: () => boolean;
  readonly onRefused: (error: unknown) => void;
  readonly onSaved: (plan: SavedPlan) => void;
}

export function SavePlan({ appId, plan, loadServerIds, check, onRefused, onSaved }: SavePlanProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const create = useMutation(trpc.benchmarkPlan.create.mutationOptions());
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  // An error about the name ends with the next change of it. The form shows errors of the plan at their fields.
  const isStanding = create.error !== null && create.variables?.name === name;
  const save = () => {
    if (!check()) return;
    create.mutate(
      { appId, name, plan, loadServerIds: [...loadServerIds] },
      {
        onSuccess: async ({ planId }) => {
          await queryClient.invalidateQueries(trpc.benchmarkPlan.pathFilter());
          const saved = await queryClient.fetchQuery(trpc.benchmarkPlan.get.queryOptions({ planId }));
          toast({ title: 'Plan saved', detail: `“${saved.name}” is under Benchmarks → Plans.` });
          onSaved(saved);
        },
        onError: onRefused,
      },
    );
  };
  if (!isOpen) {
    return (
      <span>
        <Button icon={<Bookmark size={15} aria-hidden="true" />} onClick={() => setOpen(check())}>
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
        error={isStanding ? nameError(readFailure(create.error)) : undefined}
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
      <Button className="mt-[26px] shrink-0" pending={create.isPending} onClick={save}>
        Save plan
      </Button>
    </div>
  );
}

/** Returns the error that the name shows: its own, or one that belongs to no field of the form. */
function nameError({ fields, message }: Failure): string | undefined {
  return fields.name ?? fields[''] ?? (Object.keys(fields).length === 0 ? message : undefined);
}
