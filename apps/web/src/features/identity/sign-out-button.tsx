'use client';
// Signs out on a page without a navigation rail.
import { Button } from '@fairlead/ui/button';
import { useTransition } from 'react';
import { useSignOut } from '../../common/identity/use-sign-out.ts';

export function SignOutButton() {
  const signOut = useSignOut();
  const [pending, start] = useTransition();
  return (
    <Button pending={pending} onClick={() => start(signOut)}>
      Sign out
    </Button>
  );
}
