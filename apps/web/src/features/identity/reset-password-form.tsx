'use client';
// Sets a new password with the link of a mail, or of the server's command line. One kind of link also restores the
// account; the API tells them apart.
import { buttonClass } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation } from '@tanstack/react-query';
import Link from 'next/link';
import type { FormEvent } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useLinkToken } from '../../common/identity/use-link-token.ts';

export interface ResetPasswordFormProps {
  readonly submitLabel: string;
  readonly done: string;
  /** Replaces the API's message about an invalid link where no new one can be requested. */
  readonly linkInvalid?: string;
}

export function ResetPasswordForm({ submitLabel, done, linkInvalid }: ResetPasswordFormProps) {
  const token = useLinkToken();
  const reset = useMutation(useTRPC().account.resetPassword.mutationOptions());
  const failure = reset.error === null ? null : readFailure(reset.error);
  const ownMessage = failure?.code === 'account.link_invalid' ? linkInvalid : undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get('password'));
    reset.mutate(
      { token: token ?? '', password },
      // The used token must not stay in the history.
      { onSuccess: () => window.history.replaceState(null, '', window.location.pathname) },
    );
  };
  if (reset.isSuccess) {
    return (
      <div className="flex flex-col gap-5">
        <p role="status">{done}</p>
        <Link href="/sign-in" className={buttonClass('accent', 'large')}>
          Sign in
        </Link>
      </div>
    );
  }
  if (token === '') {
    return <ErrorNote>This link is incomplete. Open the full link from the email, or request a new one.</ErrorNote>;
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field
        label="New password"
        hint="At least 12 characters. A few words are easier to remember."
        error={failure?.fields.password}
      >
        {(control) => (
          <Input {...control} name="password" type="password" autoComplete="new-password" minLength={12} required />
        )}
      </Field>
      {failure === null || failure.fields.password !== undefined ? null : (
        <ErrorNote>{ownMessage ?? failure.message}</ErrorNote>
      )}
      <SubmitButton variant="accent" size="large" pending={reset.isPending}>
        {submitLabel}
      </SubmitButton>
    </form>
  );
}
