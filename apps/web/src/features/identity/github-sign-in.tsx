'use client';
// Page to which GitHub returns a person who signs in. It completes the sign-in once, and asks for a code if the account has an
// authenticator app.
import { buttonClass } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Spinner } from '@fairlead/ui/spinner';
import Link from 'next/link';
import { useEffect, useRef, useState } from 'react';
import { completeGithubSignIn, type SignInOutcome, takeNext } from '../../common/identity/session-calls.ts';
import { CodeForm } from './code-form.tsx';
import { safeNext } from './safe-next.ts';
import { messageOf } from './sign-in-messages.ts';

export interface GithubSignInProps {
  readonly state: string;
  readonly code: string;
}

export function GithubSignIn({ state, code }: GithubSignInProps) {
  const [outcome, setOutcome] = useState<SignInOutcome | null>(state === '' || code === '' ? 'github_expired' : null);
  const hasRun = useRef(false);
  useEffect(() => {
    if (hasRun.current || state === '' || code === '') return;
    hasRun.current = true;
    void completeGithubSignIn(state, code).then((result) => {
      if (result === 'ok') window.location.assign(safeNext(takeNext()));
      else setOutcome(result);
    });
  });
  if (outcome === 'needs_code') {
    return (
      <CodeForm onDone={() => window.location.assign(safeNext(takeNext()))} onStartOver={() => setOutcome('expired')} />
    );
  }
  if (outcome === null || outcome === 'ok') {
    return (
      <p role="status" className="flex items-center gap-2 text-ink-soft">
        <Spinner /> Signing you in…
      </p>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <ErrorNote>{messageOf(outcome)}</ErrorNote>
      <Link href="/sign-in" className={buttonClass('plain', 'large')}>
        Back to sign-in
      </Link>
    </div>
  );
}
