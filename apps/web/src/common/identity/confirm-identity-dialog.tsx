'use client';
// Dialog that asks for a proof of identity, loaded when the API first asks for one.
import { authClient, hasPasskeys } from '@fairlead/auth/client';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { PasswordInput } from '@fairlead/ui/password-input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useMutation } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { type FormEvent, useId } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { PendingProof, Proof } from './confirm-identity.tsx';

const DIALOG = {
  'session.not_fresh': {
    title: "Confirm that it's you",
    detail: 'You signed in a while ago. Confirm your identity to continue.',
    label: 'Password',
    refused: "That passkey wasn't accepted. Try again, or type your password.",
  },
  'session.second_factor_required': {
    title: 'Confirm your second factor',
    detail: 'Your account uses a second factor. Confirm it to continue.',
    label: 'Code',
    refused: "That passkey wasn't accepted. Try again, or enter a code.",
  },
} as const;

export function ConfirmIdentityDialog({ pending }: { readonly pending: PendingProof | null }) {
  const text = pending === null ? null : DIALOG[pending.proof];
  return (
    <Dialog
      open={pending !== null}
      onClose={() => pending?.answer(false)}
      title={text?.title ?? ''}
      detail={text?.detail}
    >
      {pending === null ? null : (
        <ConfirmForm key={pending.proof} proof={pending.proof} onConfirmed={() => pending.answer(true)} />
      )}
    </Dialog>
  );
}

function ConfirmForm({ proof, onConfirmed }: { readonly proof: Proof; readonly onConfirmed: () => void }) {
  const formId = useId();
  const trpc = useTRPC();
  const byPassword = useMutation(trpc.account.confirm.mutationOptions());
  const byCode = useMutation(trpc.account.confirmSecondFactor.mutationOptions());
  const byPasskey = useMutation({ mutationFn: () => authClient.confirmByPasskey() });
  const isFactor = proof === 'session.second_factor_required';
  const typed = isFactor ? byCode : byPassword;
  const problem = typed.error === null ? null : readFailure(typed.error);
  const fieldProblem = problem?.fields.code ?? problem?.fields.password;
  const refusal = byPasskey.data?.ok === false || byPasskey.error !== null;
  const failure = problem !== null && fieldProblem === undefined ? problem.message : null;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    byPasskey.reset();
    const value = String(new FormData(event.currentTarget).get('proof'));
    if (isFactor) byCode.mutate({ code: value }, { onSuccess: onConfirmed });
    else byPassword.mutate({ password: value }, { onSuccess: onConfirmed });
  };
  return (
    <form id={formId} onSubmit={submit} className="flex flex-col gap-4">
      <Field
        label={DIALOG[proof].label}
        error={fieldProblem}
        {...(isFactor ? { hint: 'Six digits from your authenticator app, or a recovery code.' } : {})}
      >
        {(control) =>
          isFactor ? (
            <Input {...control} mono name="proof" autoComplete="one-time-code" autoFocus required />
          ) : (
            <PasswordInput {...control} name="proof" autoComplete="current-password" autoFocus required />
          )
        }
      </Field>
      {failure === null && !refusal ? null : <ErrorNote>{failure ?? DIALOG[proof].refused}</ErrorNote>}
      <div className="flex flex-wrap justify-end gap-2">
        {hasPasskeys() ? (
          <Button
            icon={<KeyRound size={15} />}
            pending={byPasskey.isPending}
            onClick={() => {
              typed.reset();
              byPasskey.mutate(undefined, { onSuccess: ({ ok }) => (ok ? onConfirmed() : undefined) });
            }}
          >
            Use a passkey
          </Button>
        ) : null}
        <SubmitButton variant="accent" pending={typed.isPending}>
          Confirm
        </SubmitButton>
      </div>
    </form>
  );
}
