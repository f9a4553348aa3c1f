'use client';
// Creates an organization that its creator owns.
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';

export function NewOrganizationForm() {
  const trpc = useTRPC();
  const create = useMutation(trpc.organization.create.mutationOptions());
  const failure = create.error === null ? null : readFailure(create.error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name') ?? '').trim();
    create.mutate({ name }, { onSuccess: ({ slug }) => window.location.assign(`/${slug}`) });
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Field label="Name" hint="The name of your company or team." error={failure?.fields.name}>
        {(control) => <Input {...control} name="name" autoComplete="organization" autoFocus />}
      </Field>
      {failure === null || failure.fields.name !== undefined ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <SubmitButton variant="accent" size="large" pending={create.isPending || create.isSuccess}>
        Create organization
      </SubmitButton>
    </form>
  );
}
