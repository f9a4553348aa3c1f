'use client';
// Sign-in with email and password, with a passkey, or through GitHub; then a second factor if the account has one.
import { hasPasskeys } from '@fairlead/auth/client';
import { Button } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { PasswordInput } from '@fairlead/ui/password-input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { GitPullRequest, KeyRound } from 'lucide-react';
import Link from 'next/link';
import { type FormEvent, useState, useSyncExternalStore } from 'react';
import { type SignInOutcome, signIn, signInByPasskey, startGithubSignIn } from '../../common/identity/session-calls.ts';
import { CodeForm } from './code-form.tsx';
import { safeNext } from './safe-next.ts';
import { messageOf, type SignInFailure } from './sign-in-messages.ts';

const never = () => () => undefined;

export interface SignInFormProps {
  /** Page to open afterwards. */
  readonly next: string;
  /** True if the operator lets people sign in through GitHub. */
  readonly hasGithub: boolean;
}

export function SignInForm({ next: path, hasGithub }: SignInFormProps) {
  const [step, setStep] = useState<'password' | 'code'>('password');
  const [pending, setPending] = useState<'form' | 'passkey' | 'github' | null>(null);
  const [failed, setFailed] = useState<SignInFailure | null>(null);
  const canUsePasskeys = useSyncExternalStore(never, hasPasskeys, () => false);

  // The server never sees the fragment of the link; the browser keeps it through the redirect to this page.
  const nextPage = () => safeNext(path.includes('#') ? path : `${path}${window.location.hash}`);
  const run = async (kind: 'form' | 'passkey', call: () => Promise<SignInOutcome>) => {
    setPending(kind);
    setFailed(null);
    const outcome = await call();
    // A full page load discards the state of the anonymous session.
    if (outcome === 'ok') return window.location.assign(nextPage());
    if (outcome === 'needs_code') setStep('code');
    else setFailed(outcome);
    setPending(null);
  };
  const goToGithub = async () => {
    setPending('github');
    setFailed(null);
    const started = await startGithubSignIn(nextPage());
    if (typeof started === 'object') return window.location.assign(started.url);
    setFailed(started);
    setPending(null);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field));
    void run('form', () => signIn(text('email'), text('password')));
  };
  const note = failed === null ? null : <ErrorNote>{messageOf(failed)}</ErrorNote>;

  if (step === 'code') {
    return (
      <CodeForm
        onDone={() => window.location.assign(nextPage())}
        onStartOver={(failure) => {
          setStep('password');
          setFailed(failure);
        }}
      />
    );
  }
  return (
    <form key="password" onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Email">
        {(control) => <Input {...control} name="email" type="email" autoComplete="username" autoFocus required />}
      </Field>
      <Field label="Password">
        {(control) => <PasswordInput {...control} name="password" autoComplete="current-password" required />}
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
      {hasGithub ? (
        <Button
          size="large"
          icon={<GitPullRequest size={15} />}
          pending={pending === 'github'}
          onClick={() => void goToGithub()}
        >
          Sign in with GitHub
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
