'use client';
// Second step of a sign-in: a code of the authenticator app, or a recovery code.
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { type FormEvent, useState } from 'react';
import { signInByCode } from '../../common/identity/session-calls.ts';
import { messageOf, type SignInFailure } from './sign-in-messages.ts';

export interface CodeFormProps {
  readonly onDone: () => void;
  /** Runs when the person starts over, and when the first step is too old. */
  readonly onStartOver: (failure: SignInFailure | null) => void;
}

export function CodeForm({ onDone, onStartOver }: CodeFormProps) {
  const [pending, setPending] = useState(false);
  const [failed, setFailed] = useState<SignInFailure | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code'));
    setPending(true);
    setFailed(null);
    const outcome = await signInByCode(code);
    if (outcome === 'ok') return onDone();
    setPending(false);
    if (outcome === 'expired') return onStartOver(outcome);
    if (outcome !== 'needs_code') setFailed(outcome);
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
      <Field label="Code" hint="Six digits of your authenticator app, or one of your recovery codes.">
        {(control) => (
          <Input {...control} mono name="code" autoComplete="one-time-code" autoFocus spellCheck={false} required />
        )}
      </Field>
      {failed === null ? null : <ErrorNote>{messageOf(failed)}</ErrorNote>}
      <SubmitButton variant="accent" size="large" pending={pending}>
        Continue
      </SubmitButton>
      <Button variant="ghost" onClick={() => onStartOver(null)}>
        Start over
      </Button>
    </form>
  );
}
