'use client';
// Ends the session and leaves; says so when it could not.
import { useToast } from '@fairlead/ui/toast';

export function useSignOut(): () => Promise<void> {
  const toast = useToast();
  return async () => {
    const outcome = await fetch('/api/auth/sign-out', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    }).then(
      (response) => response.ok,
      () => false,
    );
    if (outcome) window.location.assign('/sign-in');
    else toast({ tone: 'bad', title: "You're still signed in", detail: "The control plane didn't answer. Try again." });
  };
}
