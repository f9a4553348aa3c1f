'use client';
// Page of an invitation link: a signed-in reader joins with one press, a new one creates an account and joins.
import { Button } from '@fairlead/ui/button';
import { ErrorNote, ErrorState } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { PasswordInput } from '@fairlead/ui/password-input';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Spinner } from '@fairlead/ui/spinner';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import type { Me, Outputs } from '../../api/types.ts';
import { useFormErrors } from '../../common/form/use-form-errors.ts';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { LinkProblem } from '../../common/identity/link-problem.tsx';
import { signIn, signOut } from '../../common/identity/session-calls.ts';
import { roleLabel } from '../../common/organization/role-labels.ts';
import { forgetInvitationToken, keepInvitationToken, useInvitationToken } from './use-invitation-token.ts';

type Preview = Outputs['invitation']['read'];
type User = Me['user'];

export function InvitationPage({ user }: { readonly user: User | null }) {
  const token = useInvitationToken();
  const client = useTRPCClient();
  const preview = useQuery({
    queryKey: ['invitation', token],
    // Sends the token in a body, because a URL must never contain one.
    queryFn: () => client.invitation.read.mutate({ token: token ?? '' }),
    enabled: token !== null && token !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (token === '') {
    return <LinkProblem title="This link is incomplete" lead="Copy the full link and open it again." />;
  }
  if (preview.error !== null) {
    const failure = readFailure(preview.error);
    if (failure.code === 'invitation.token_invalid') {
      return (
        <LinkProblem
          title="This invitation no longer works"
          lead="It was used, has expired or was revoked. Ask the person who invited you for a new one. If you joined already, sign in."
          {...(user === null ? { way: { label: 'Sign in', href: '/sign-in' } } : {})}
        />
      );
    }
    return (
      <IdentityFrame title="Invitation" lead="">
        <ErrorState
          message={failure.message}
          errorId={failure.errorId ?? undefined}
          onRetry={() => void preview.refetch()}
        />
      </IdentityFrame>
    );
  }
  if (token === null || preview.data === undefined) {
    return (
      <IdentityFrame title="Invitation" lead="Loading…">
        <Spinner />
      </IdentityFrame>
    );
  }
  const { organizationName, invitedBy, role, expiresAt } = preview.data;
  return (
    <IdentityFrame
      title={`Join ${organizationName}`}
      lead={
        <>
          {invitedBy ?? 'A member'} invites you
          {role === null ? '' : ` as ${roleLabel(role, []).label}`}. The invitation works once and expires{' '}
          <RelativeTime at={expiresAt} />.
        </>
      }
    >
      {user === null ? (
        <NewAccount token={token} preview={preview.data} />
      ) : (
        <JoinAs token={token} user={user} preview={preview.data} />
      )}
    </IdentityFrame>
  );
}

function openOrganization(organizationSlug: string): void {
  forgetInvitationToken();
  // A full page load discards the state from before the membership.
  window.location.assign(`/${organizationSlug}`);
}

interface PartProps {
  readonly token: string;
  readonly preview: Preview;
}

function JoinAs({ token, preview, user }: PartProps & { readonly user: User }) {
  const trpc = useTRPC();
  const accept = useMutation(trpc.invitation.accept.mutationOptions());
  const failure = accept.error === null ? null : readFailure(accept.error);
  const isForOther = preview.email !== null && preview.email !== user.email;
  const leave = async () => {
    keepInvitationToken(token);
    if (await signOut()) window.location.reload();
  };
  return (
    <div className="flex flex-col gap-4">
      {isForOther ? (
        <ErrorNote>{`This invitation is for ${preview.email}. You are signed in as ${user.email}.`}</ErrorNote>
      ) : (
        <Button
          variant="accent"
          size="large"
          pending={accept.isPending || accept.isSuccess}
          onClick={() =>
            accept.mutate({ token }, { onSuccess: ({ organizationSlug }) => openOrganization(organizationSlug) })
          }
        >
          Join as {user.name}
        </Button>
      )}
      {failure === null ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <Button variant={isForOther ? 'accent' : 'ghost'} size="large" onClick={() => void leave()}>
        Use another account
      </Button>
    </div>
  );
}

const REQUIRED = { name: 'Enter your name.', email: 'Enter your email address.', password: 'Enter a password.' };

function NewAccount({ token, preview }: PartProps) {
  const trpc = useTRPC();
  const claim = useMutation(trpc.invitation.claim.mutationOptions());
  const [opening, setOpening] = useState(false);
  const { form: formRef, fields, note, isComplete } = useFormErrors(claim.error, REQUIRED);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!isComplete()) return;
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '');
    const email = preview.email ?? text('email').trim();
    const password = text('password');
    claim.mutate(
      { token, name: text('name').trim(), email, password },
      {
        onSuccess: async ({ organizationSlug }) => {
          setOpening(true);
          // The account exists either way: if this sign-in fails, the person uses the sign-in page.
          if ((await signIn(email, password)) === 'ok') openOrganization(organizationSlug);
          else {
            forgetInvitationToken();
            window.location.assign(`/sign-in?next=${encodeURIComponent(`/${organizationSlug}`)}`);
          }
        },
      },
    );
  };

  return (
    <div className="flex flex-col gap-6">
      <form ref={formRef} onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Field label="Your name" error={fields.name}>
          {(control) => <Input {...control} name="name" autoComplete="name" autoFocus required />}
        </Field>
        <Field
          label="Email"
          error={fields.email}
          hint={preview.email === null ? undefined : 'The invitation is for this address.'}
        >
          {(control) => (
            <Input
              {...control}
              name="email"
              type="email"
              autoComplete="username"
              readOnly={preview.email !== null}
              defaultValue={preview.email ?? ''}
            />
          )}
        </Field>
        <Field
          label="Password"
          hint="At least 12 characters. A few words are easier to remember."
          error={fields.password}
        >
          {(control) => <PasswordInput {...control} name="password" autoComplete="new-password" required />}
        </Field>
        {note === null ? null : <ErrorNote>{note}</ErrorNote>}
        <SubmitButton variant="accent" size="large" pending={claim.isPending || opening}>
          Create account and join
        </SubmitButton>
      </form>
      <p className="text-ink-soft">
        Already have an account?{' '}
        <a
          href="/sign-in?next=/invitation"
          onClick={() => keepInvitationToken(token)}
          className="font-medium text-accent-text underline underline-offset-2"
        >
          Sign in to join
        </a>
      </p>
    </div>
  );
}
