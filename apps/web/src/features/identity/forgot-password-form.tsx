'use client';
// Requests the mail that resets a password. The response is the same for every address, so that it reveals no account.
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';

export function ForgotPasswordForm() {
  const request = useMutation(useTRPC().account.requestReset.mutationOptions());
  const failure = request.error === null ? null : readFailure(request.error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    request.mutate({ email: String(new FormData(event.currentTarget).get('email')) });
  };
  if (request.isSuccess) {
    return (
      <p role="status" className="text-pretty">
        If an account uses this address, an email was sent. Its link works once, within 30 minutes.
      </p>
    );
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Email" error={failure?.fields.email}>
        {(control) => <Input {...control} name="email" type="email" autoComplete="username" autoFocus required />}
      </Field>
      {failure === null || failure.fields.email !== undefined ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <SubmitButton variant="accent" size="large" pending={request.isPending}>
        Send link
      </SubmitButton>
    </form>
  );
}
