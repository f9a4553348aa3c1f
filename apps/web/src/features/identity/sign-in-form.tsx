'use client';
// Sign-in with email and password, then a second factor if the account has one; or with a passkey. Invariant: one
// message for every wrong pair, so that it reveals no account.
import { hasPasskeys } from '@fairlead/auth/client';
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { KeyRound } from 'lucide-react';
import Link from 'next/link';
import { type FormEvent, useState, useSyncExternalStore } from 'react';
import { type SignInOutcome, signIn, signInByCode, signInByPasskey } from '../../common/identity/session-calls.ts';

type Failure = Exclude<SignInOutcome, 'ok' | 'needs_code'>;

const MESSAGE: Record<Failure, string> = {
  wrong: 'Email or password is wrong.',
  code_wrong: 'The code is wrong or was used already. Enter a new code.',
  expired: 'That took too long. Sign in again from the start.',
  passkey_refused: 'This passkey belongs to no account here. Sign in another way, then add it to your account.',
  passkey_closed: 'No passkey was used. Try again, or sign in with your password.',
  too_many:
    'Too many attempts from here. Wait a few minutes, or sign in with a passkey or from a device that you used before.',
  unreachable: "The control plane didn't answer. Check that it runs, then try again.",
};

const never = () => () => undefined;

export function SignInForm({ next }: { readonly next: string }) {
  const [step, setStep] = useState<'password' | 'code'>('password');
  const [pending, setPending] = useState<'form' | 'passkey' | null>(null);
  const [failed, setFailed] = useState<Failure | null>(null);
  const canUsePasskeys = useSyncExternalStore(never, hasPasskeys, () => false);

  const run = async (kind: 'form' | 'passkey', call: () => Promise<SignInOutcome>) => {
    setPending(kind);
    setFailed(null);
    const outcome = await call();
    // A full page load discards the state of the anonymous session.
    if (outcome === 'ok') return window.location.assign(next);
    if (outcome === 'needs_code') setStep('code');
    else setFailed(outcome);
    if (outcome === 'expired') setStep('password');
    setPending(null);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field));
    void run('form', () => (step === 'code' ? signInByCode(text('code')) : signIn(text('email'), text('password'))));
  };
  const note = failed === null ? null : <ErrorNote>{MESSAGE[failed]}</ErrorNote>;

  if (step === 'code') {
    return (
      <form key="code" onSubmit={submit} className="flex flex-col gap-4">
        <Field label="Code" hint="Six digits of your authenticator app, or one of your recovery codes.">
          {(control) => (
            <Input {...control} mono name="code" autoComplete="one-time-code" autoFocus spellCheck={false} required />
          )}
        </Field>
        {note}
        <SubmitButton variant="accent" size="large" pending={pending === 'form'}>
          Continue
        </SubmitButton>
        <Button variant="ghost" onClick={() => setStep('password')}>
          Start over
        </Button>
      </form>
    );
  }
  return (
    <form key="password" onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Email">
        {(control) => <Input {...control} name="email" type="email" autoComplete="username" required />}
      </Field>
      <Field label="Password">
        {(control) => <Input {...control} name="password" type="password" autoComplete="current-password" required />}
      </Field>
      {note}
      <SubmitButton variant="accent" size="large" pending={pending === 'form'}>
        Sign in
      </SubmitButton>
      {canUsePasskeys ? (
        <Button
          size="large"
          icon={<KeyRound size={15} />}
          pending={pending === 'passkey'}
          onClick={() => void run('passkey', signInByPasskey)}
        >
          Sign in with a passkey
        </Button>
      ) : null}
      <p className="text-center text-sm">
        <Link href="/forgot-password" className="text-ink-soft underline-offset-2 hover:text-ink hover:underline">
          Forgot your password?
        </Link>
      </p>
    </form>
  );
}
