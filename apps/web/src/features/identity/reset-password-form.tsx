'use client';
// Sets a new password with the link of a mail, or of the server's command line. One kind of link also restores the
// account; the API tells them apart.
import { buttonClass } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field } from '@fairlead/ui/input';
import { PasswordInput } from '@fairlead/ui/password-input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation } from '@tanstack/react-query';
import Link from 'next/link';
import type { FormEvent } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFormErrors } from '../../common/form/use-form-errors.ts';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { LinkProblem, type LinkProblemProps } from '../../common/identity/link-problem.tsx';
import { useLinkToken } from '../../common/identity/use-link-token.ts';

export interface ResetPasswordFormProps {
  readonly title: string;
  readonly lead: string;
  readonly submitLabel: string;
  readonly done: string;
  /** Text and way on for a link that was used or has expired. */
  readonly linkInvalid: Omit<LinkProblemProps, 'title'>;
}

const REQUIRED = { password: 'Enter a new password.' };

export function ResetPasswordForm({ title, lead, submitLabel, done, linkInvalid }: ResetPasswordFormProps) {
  const token = useLinkToken();
  const reset = useMutation(useTRPC().account.resetPassword.mutationOptions());
  const { form, fields, note, isComplete } = useFormErrors(reset.error, REQUIRED);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!isComplete()) return;
    const password = String(new FormData(event.currentTarget).get('password'));
    reset.mutate(
      { token: token ?? '', password },
      // The used token must not stay in the history.
      { onSuccess: () => window.history.replaceState(null, '', window.location.pathname) },
    );
  };
  if (token === '' && !reset.isSuccess) {
    return <LinkProblem {...linkInvalid} title="This link is incomplete" lead="Open the full link from the email." />;
  }
  if (reset.error !== null && readFailure(reset.error).code === 'account.link_invalid') {
    return <LinkProblem {...linkInvalid} title="This link was used or has expired" />;
  }
  return (
    <IdentityFrame title={title} lead={lead}>
      {reset.isSuccess ? (
        <div className="flex flex-col gap-5">
          <p role="status">{done}</p>
          <Link href="/sign-in" className={buttonClass('accent', 'large')}>
            Sign in
          </Link>
        </div>
      ) : (
        <form ref={form} onSubmit={submit} noValidate className="flex flex-col gap-4">
          <Field
            label="New password"
            hint="At least 12 characters. A few words are easier to remember."
            error={fields.password}
          >
            {(control) => <PasswordInput {...control} name="password" autoComplete="new-password" autoFocus required />}
          </Field>
          {note === null ? null : <ErrorNote>{note}</ErrorNote>}
          <SubmitButton variant="accent" size="large" pending={reset.isPending}>
            {submitLabel}
          </SubmitButton>
        </form>
      )}
    </IdentityFrame>
  );
}
