'use client';
// Signs out and leaves the page; shows the error when it failed.
import { useToast } from '@fairlead/ui/toast';
import { signOut } from './session-calls.ts';

export function useSignOut(): () => Promise<void> {
  const toast = useToast();
  return async () => {
    if (await signOut()) window.location.assign('/sign-in');
    else toast({ tone: 'bad', title: "You're still signed in", detail: "The control plane didn't answer. Try again." });
  };
}
