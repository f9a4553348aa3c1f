'use client';
// E-mail and password. One message for every wrong pair, so that nobody learns which accounts exist.
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { type FormEvent, useState } from 'react';
import { type SignInOutcome, signIn } from '../../common/session-calls.ts';

const MESSAGE: Record<Exclude<SignInOutcome, 'ok'>, string> = {
  wrong: 'E-mail or password is wrong.',
  too_many: 'Too many attempts. Wait a quarter of an hour, then try again.',
  unreachable: "The control plane didn't answer. Check that it runs, then try again.",
};

export function SignInForm({ next }: { readonly next: string }) {
  const [pending, setPending] = useState(false);
  const [failed, setFailed] = useState<Exclude<SignInOutcome, 'ok'> | null>(null);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setPending(true);
    setFailed(null);
    const outcome = await signIn(String(form.get('email')), String(form.get('password')));
    // A full load: everything in memory belonged to nobody.
    if (outcome === 'ok') window.location.assign(next);
    else {
      setFailed(outcome);
      setPending(false);
    }
  };

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label="E-mail">
        {(control) => <Input {...control} name="email" type="email" autoComplete="username" required />}
      </Field>
      <Field label="Password">
        {(control) => <Input {...control} name="password" type="password" autoComplete="current-password" required />}
      </Field>
      {failed === null ? null : <ErrorNote>{MESSAGE[failed]}</ErrorNote>}
      <Button type="submit" variant="accent" size="large" pending={pending}>
        Sign in
      </Button>
    </form>
  );
}
