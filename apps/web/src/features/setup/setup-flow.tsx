'use client';
// First-run set-up on one page with three steps. The token makes the first account the owner; the other steps complete
// by themselves.
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { ApiProvider, useTRPC } from '../../api/trpc.tsx';
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
        <SetupProgress organization={organization} />
      </ApiProvider>
    );
  }
  return (
    <IdentityFrame
      title="Set up Fairlead"
      lead="Create the first account. It owns this control plane."
      aside={<SetupSteps account="running" server={null} app={null} />}
    >
      <ClaimForm onClaimed={setOrganization} />
    </IdentityFrame>
  );
}

interface ClaimFormProps {
  readonly onClaimed: (organization: string) => void;
}

function ClaimForm({ onClaimed }: ClaimFormProps) {
  const token = useLinkToken();
  const trpc = useTRPC();
  const claim = useMutation(trpc.setup.claim.mutationOptions());
  const [signingIn, setSigningIn] = useState(false);
  const failure = claim.error === null ? null : readFailure(claim.error);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
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
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      {token === '' ? (
        <Field label="Setup token" hint="Shown in the terminal by npm start." error={failure?.fields.token}>
          {(control) => <Input {...control} mono name="token" autoComplete="off" spellCheck={false} required />}
        </Field>
      ) : (
        <input type="hidden" name="token" value={token ?? ''} />
      )}
      <Field label="Your name" error={failure?.fields.name}>
        {(control) => <Input {...control} name="name" autoComplete="name" autoFocus required />}
      </Field>
      <Field label="Email" error={failure?.fields.email}>
        {(control) => <Input {...control} name="email" type="email" autoComplete="username" required />}
      </Field>
      <Field
        label="Password"
        hint="At least 12 characters. A few words are easier to remember."
        error={failure?.fields.password}
      >
        {(control) => (
          <Input {...control} name="password" type="password" autoComplete="new-password" minLength={12} required />
        )}
      </Field>
      {failure === null || (Object.keys(failure.fields).length > 0 && failure.fields.token === undefined) ? null : (
        <ErrorNote>{failure.fields.token ?? failure.message}</ErrorNote>
      )}
      <SubmitButton variant="accent" size="large" pending={claim.isPending || signingIn}>
        Create account
      </SubmitButton>
    </form>
  );
}
