'use client';
// Name that other members see.
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import type { FormEvent } from 'react';
import { useTRPCClient } from '../../api/trpc.tsx';
import { useAccountCall } from './use-account-call.ts';

export function ProfileCard({ name }: { readonly name: string }) {
  const client = useTRPCClient();
  const call = useAccountCall();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const typed = String(new FormData(event.currentTarget).get('name'));
    void call.run(() => client.account.update.mutate({ name: typed }), 'Name saved');
  };
  return (
    <Card>
      <CardHeader title="Profile" />
      <form onSubmit={submit} className="flex flex-col gap-4 border-line border-t px-4 py-4">
        <Field label="Name" hint="Visible to members of your organizations." error={call.failure?.fields.name}>
          {(control) => <Input {...control} name="name" defaultValue={name} autoComplete="name" required />}
        </Field>
        {call.failure === null || call.failure.fields.name !== undefined ? null : (
          <ErrorNote>{call.failure.message}</ErrorNote>
        )}
        <SubmitButton pending={call.pending} className="self-start">
          Save
        </SubmitButton>
      </form>
    </Card>
  );
}
