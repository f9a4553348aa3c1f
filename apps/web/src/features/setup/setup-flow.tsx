'use client';
// First-run set-up on one page. The token makes the first account the owner; the domain can be skipped; the other steps complete
// by themselves.
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { PasswordInput } from '@fairlead/ui/password-input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiProvider, useTRPC } from '../../api/trpc.tsx';
import { useFormErrors } from '../../common/form/use-form-errors.ts';
import { ConfirmIdentityProvider } from '../../common/identity/confirm-identity.tsx';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { signIn } from '../../common/identity/session-calls.ts';
import { useLinkToken } from '../../common/identity/use-link-token.ts';
import { SetupProgress } from './setup-progress.tsx';
import { SetupSteps } from './setup-steps.tsx';

export function SetupFlow() {
  const [organization, setOrganization] = useState<string | null>(null);
  if (organization !== null) {
    return (
      <ApiProvider organization={organization}>
        <ConfirmIdentityProvider>
          <SetupProgress organization={organization} />
        </ConfirmIdentityProvider>
      </ApiProvider>
    );
  }
  return (
    <IdentityFrame
      title="Set up Fairlead"
      lead="Create the first account. It owns this control plane."
      aside={<SetupSteps account="current" domain={null} server={null} app={null} />}
    >
      <ClaimForm onClaimed={setOrganization} />
    </IdentityFrame>
  );
}

interface ClaimFormProps {
  readonly onClaimed: (organization: string) => void;
}

const REQUIRED = {
  token: 'Enter the setup token.',
  name: 'Enter your name.',
  email: 'Enter your email address.',
  password: 'Enter a password.',
};

function ClaimForm({ onClaimed }: ClaimFormProps) {
  const token = useLinkToken();
  const trpc = useTRPC();
  const claim = useMutation(trpc.setup.claim.mutationOptions());
  const [signingIn, setSigningIn] = useState(false);
  const { form: formRef, fields, note, isComplete } = useFormErrors(claim.error, REQUIRED);
  // With the link, the token has no field to show its error at.
  const tokenNote = token === '' ? null : (fields.token ?? null);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!isComplete()) return;
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '');
    const account = { email: text('email').trim(), password: text('password') };
    claim.mutate(
      { token: text('token').trim(), name: text('name').trim(), ...account },
      {
        onSuccess: async ({ organizationSlug }) => {
          setSigningIn(true);
          // The account exists either way: if this sign-in fails, the person uses the sign-in page.
          if ((await signIn(account.email, account.password)) === 'ok') {
            // The used token must not stay in the history.
            window.history.replaceState(null, '', '/setup');
            onClaimed(organizationSlug);
          } else window.location.assign('/sign-in');
        },
      },
    );
  };

  return (
    <form ref={formRef} onSubmit={submit} noValidate className="flex flex-col gap-4">
      {token === '' ? (
        <Field
          label="Setup token"
          hint={
            <>
              The installer or <code className="font-mono">npm start</code> printed it in the terminal.
            </>
          }
          error={fields.token}
        >
          {(control) => (
            <Input {...control} mono name="token" autoComplete="off" spellCheck={false} autoFocus required />
          )}
        </Field>
      ) : (
        <input type="hidden" name="token" value={token ?? ''} />
      )}
      <Field label="Your name" error={fields.name}>
        {(control) => <Input {...control} name="name" autoComplete="name" autoFocus required />}
      </Field>
      <Field label="Email" error={fields.email}>
        {(control) => <Input {...control} name="email" type="email" autoComplete="username" required />}
      </Field>
      <Field
        label="Password"
        hint="At least 12 characters. A few words are easier to remember."
        error={fields.password}
      >
        {(control) => <PasswordInput {...control} name="password" autoComplete="new-password" required />}
      </Field>
      {note === null && tokenNote === null ? null : <ErrorNote>{note ?? tokenNote ?? ''}</ErrorNote>}
      <SubmitButton variant="accent" size="large" pending={claim.isPending || signingIn}>
        Create account
      </SubmitButton>
    </form>
  );
}
