'use client';
// Dialogs that the API asks for: tries a call, shows the dialog that its refusal asks for, and tries again. The dialogs are
// "confirm your identity" (session.not_fresh) and "confirm your second factor". They take the place of an open dialog.
import { authClient, hasPasskeys } from '@fairlead/auth/client';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { PasswordInput } from '@fairlead/ui/password-input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { createContext, type FormEvent, type ReactNode, useCallback, useContext, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';

/** Proof that the API may require before it runs a call. */
type Proof = 'session.not_fresh' | 'session.second_factor_required';

interface IdentityConfirmation {
  /** Runs work that may need a proof. Rejects with the API's refusal when the person closes the dialog. */
  readonly runFresh: <T>(work: () => Promise<T>) => Promise<T>;
  /** Shows a dialog; false when the person closed it. */
  readonly confirm: (proof: Proof) => Promise<boolean>;
}

const SENTENCE: Readonly<Record<Proof, string>> = {
  'session.not_fresh': "Confirm that it's you, then try again.",
  'session.second_factor_required': 'Confirm with a passkey or a code first, then try again.',
};

function isProof(code: string | null): code is Proof {
  return code !== null && Object.hasOwn(SENTENCE, code);
}

/** Returns identity's refusal outside the API's procedures in the API's shape; null when it asks for no proof. */
export function proofError(code: string): Error | null {
  return isProof(code) ? Object.assign(new Error(SENTENCE[code]), { data: { errorCode: code } }) : null;
}

const cancelled = new WeakSet<object>();

/** Reports whether the person closed the dialog that this refusal opened. Pages then show no failure. */
export function wasCancelled(error: unknown): boolean {
  return typeof error === 'object' && error !== null && cancelled.has(error);
}

/** Runs work, asks for the proof that its refusal names, and runs it again. */
export async function withProof<T>(work: () => Promise<T>, confirm: IdentityConfirmation['confirm']): Promise<T> {
  const confirmed = new Set<Proof>();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const { code } = readFailure(error);
      // Shows each dialog once: if the API does not accept the answer, asking again would not help.
      if (!isProof(code) || confirmed.has(code)) throw error;
      if (!(await confirm(code))) {
        if (typeof error === 'object' && error !== null) cancelled.add(error);
        throw error;
      }
      confirmed.add(code);
    }
  }
}

const IdentityConfirmationContext = createContext<IdentityConfirmation | null>(null);

export function useIdentityConfirmation(): IdentityConfirmation {
  const confirmation = useContext(IdentityConfirmationContext);
  if (confirmation === null) throw new Error('useIdentityConfirmation needs a ConfirmIdentityProvider above it');
  return confirmation;
}

/** Mutation for a procedure that may require a fresh session. Use it for every procedure that declares `fresh`. */
export function useFreshMutation<Output, Failure, Input, Context>(
  options: UseMutationOptions<Output, Failure, Input, Context>,
): UseMutationResult<Output, Failure, Input, Context> {
  const { runFresh } = useIdentityConfirmation();
  const { mutationFn } = options;
  if (mutationFn === undefined) throw new TypeError('a mutation needs its function');
  return useMutation({ ...options, mutationFn: (input, context) => runFresh(() => mutationFn(input, context)) });
}

interface PendingProof {
  readonly proof: Proof;
  readonly answer: (isConfirmed: boolean) => void;
}

/** Requires an ApiProvider above it. */
export function ConfirmIdentityProvider({ children }: { readonly children: ReactNode }) {
  const [pending, setPending] = useState<PendingProof | null>(null);
  const confirm = useCallback(async (proof: Proof): Promise<boolean> => {
    const isConfirmed = await new Promise<boolean>((answer) => setPending({ proof, answer }));
    setPending(null);
    return isConfirmed;
  }, []);
  const runFresh = useCallback(<T,>(work: () => Promise<T>): Promise<T> => withProof(work, confirm), [confirm]);
  return (
    <IdentityConfirmationContext value={{ runFresh, confirm }}>
      {children}
      <ConfirmIdentityDialog pending={pending} />
    </IdentityConfirmationContext>
  );
}

const DIALOG = {
  'session.not_fresh': {
    title: "Confirm that it's you",
    detail: 'You signed in a while ago. Confirm your identity to continue.',
    label: 'Password',
    refused: "That passkey wasn't accepted. Try again, or type your password.",
  },
  'session.second_factor_required': {
    title: 'Confirm your second factor',
    detail: 'Your account has a second factor, and this session has not proven it yet.',
    label: 'Code',
    refused: "That passkey wasn't accepted. Try again, or enter a code.",
  },
} as const;

function ConfirmIdentityDialog({ pending }: { readonly pending: PendingProof | null }) {
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
