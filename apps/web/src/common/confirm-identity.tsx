'use client';
// What only a fresh session may do: tries it, and when the API asks who sits there, asks for the password or a passkey and
// tries again.
import { authClient, hasPasskeys } from '@fairlead/auth/client';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { useMutation } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { createContext, type FormEvent, type ReactNode, useCallback, useContext, useId, useState } from 'react';
import { readFailure } from '../api/failure.ts';
import { useTRPC } from '../api/trpc.tsx';

type Freshly = <T>(work: () => Promise<T>) => Promise<T>;

/** Thrown by work that is no procedure, when identity answered session.not_fresh. */
export class NotFresh extends Error {
  readonly data = { errorCode: 'session.not_fresh' };
}

const FreshlyContext = createContext<Freshly | null>(null);

/** Runs work that may need a fresh session. Rejects with the API's refusal when the person closes the question. */
export function useFreshly(): Freshly {
  const freshly = useContext(FreshlyContext);
  if (freshly === null) throw new Error('useFreshly needs a ConfirmIdentityProvider above it');
  return freshly;
}

interface Question {
  readonly answer: (isConfirmed: boolean) => void;
}

/** Needs an ApiProvider above it. */
export function ConfirmIdentityProvider({ children }: { readonly children: ReactNode }) {
  const [question, setQuestion] = useState<Question | null>(null);
  const freshly = useCallback<Freshly>(async (work) => {
    try {
      return await work();
    } catch (error) {
      if (readFailure(error).code !== 'session.not_fresh') throw error;
      const isConfirmed = await new Promise<boolean>((answer) => setQuestion({ answer }));
      setQuestion(null);
      if (!isConfirmed) throw error;
      return work();
    }
  }, []);
  return (
    <FreshlyContext value={freshly}>
      {children}
      <ConfirmIdentityDialog question={question} />
    </FreshlyContext>
  );
}

function ConfirmIdentityDialog({ question }: { readonly question: Question | null }) {
  return (
    <Dialog
      open={question !== null}
      onClose={() => question?.answer(false)}
      title="Confirm that it's you"
      detail="You signed in a while ago, and this is not for a screen left open."
    >
      {question === null ? null : <ConfirmIdentityForm onConfirmed={() => question.answer(true)} />}
    </Dialog>
  );
}

function ConfirmIdentityForm({ onConfirmed }: { readonly onConfirmed: () => void }) {
  const formId = useId();
  const confirm = useMutation(useTRPC().account.confirm.mutationOptions());
  const byPasskey = useMutation({ mutationFn: () => authClient.confirmByPasskey() });
  const refusal = byPasskey.data?.ok === false || byPasskey.error !== null;
  const failure =
    confirm.error !== null
      ? readFailure(confirm.error).message
      : refusal
        ? "That passkey didn't confirm it. Try again, or type your password."
        : null;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    byPasskey.reset();
    const password = String(new FormData(event.currentTarget).get('password'));
    confirm.mutate({ password }, { onSuccess: onConfirmed });
  };
  return (
    <form id={formId} onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Password">
        {(control) => (
          <Input {...control} name="password" type="password" autoComplete="current-password" autoFocus required />
        )}
      </Field>
      {failure === null ? null : <ErrorNote>{failure}</ErrorNote>}
      <div className="flex flex-wrap justify-end gap-2">
        {hasPasskeys() ? (
          <Button
            icon={<KeyRound size={15} />}
            pending={byPasskey.isPending}
            onClick={() => {
              confirm.reset();
              byPasskey.mutate(undefined, { onSuccess: ({ ok }) => (ok ? onConfirmed() : undefined) });
            }}
          >
            Use a passkey
          </Button>
        ) : null}
        <Button type="submit" variant="accent" pending={confirm.isPending}>
          Confirm
        </Button>
      </div>
    </form>
  );
}
