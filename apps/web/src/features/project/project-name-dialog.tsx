'use client';
// Dialog for a project's name: creates a project, or renames one.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Project } from '../../api/types.ts';

export interface ProjectNameDialogProps {
  /** Null creates one. */
  readonly project: Pick<Project, 'id' | 'name'> | null;
  readonly onClose: () => void;
}

export function ProjectNameDialog({ project, onClose }: ProjectNameDialogProps) {
  const formId = useId();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const create = useMutation(trpc.project.create.mutationOptions());
  const rename = useMutation(trpc.project.update.mutationOptions());
  const { error, isPending } = project === null ? create : rename;
  const failure = error === null ? null : readFailure(error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name') ?? '').trim();
    const onSuccess = () => {
      onClose();
      toast(
        project === null
          ? { title: `${name} created`, detail: 'It starts with the environment Production.' }
          : { title: `${project.name} is now ${name}` },
      );
      // Names of projects are also in the lists of apps, environments and groups.
      void queryClient.invalidateQueries();
    };
    if (project === null) create.mutate({ name }, { onSuccess });
    else rename.mutate({ projectId: project.id, name }, { onSuccess });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={project === null ? 'New project' : `Rename ${project.name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton form={formId} variant="accent" pending={isPending}>
            {project === null ? 'Create project' : 'Rename project'}
          </SubmitButton>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate>
        <Field label="Name" error={failure === null ? undefined : (failure.fields.name ?? failure.message)}>
          {(control) => (
            <Input
              {...control}
              name="name"
              autoFocus
              required
              autoComplete="off"
              placeholder="Online shop"
              defaultValue={project?.name ?? ''}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
