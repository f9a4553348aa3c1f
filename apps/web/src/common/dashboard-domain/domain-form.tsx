'use client';
// Form that adds a domain of the dashboard.
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation, wasCancelled } from '../identity/confirm-identity.tsx';

interface DomainFormProps {
  readonly suggestedHost: string | null;
  readonly size?: 'medium' | 'large';
  /** Button beside that of the form. */
  readonly children?: ReactNode;
}

export function DomainForm({ suggestedHost, size = 'medium', children }: DomainFormProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const add = useFreshMutation(trpc.dashboardDomain.add.mutationOptions());
  const failure = add.error === null || wasCancelled(add.error) ? null : readFailure(add.error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const host = String(new FormData(form).get('host') ?? '');
    const onSuccess = async () => {
      await queryClient.invalidateQueries(trpc.dashboardDomain.pathFilter());
      form.reset();
    };
    add.mutate({ host }, { onSuccess });
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Field
        label="Domain"
        hint="A domain you own, such as fairlead.example.com. The DNS records to set come next."
        error={failure?.fields.host}
      >
        {(control) => (
          <Input
            {...control}
            mono
            name="host"
            defaultValue={suggestedHost ?? ''}
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            inputMode="url"
            required
          />
        )}
      </Field>
      {failure === null || failure.fields.host !== undefined ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <div className="flex flex-wrap items-center gap-3">
        <SubmitButton variant={size === 'large' ? 'accent' : 'plain'} size={size} pending={add.isPending}>
          Add domain
        </SubmitButton>
        {children}
      </div>
    </form>
  );
}
