'use client';
// Runs a change of the account: confirms the identity where the API requires it, refetches the account, and shows
// errors.
import { useToast } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Failure, readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useIdentityConfirmation, wasCancelled } from '../../common/identity/confirm-identity.tsx';

export interface AccountCall {
  readonly pending: boolean;
  readonly failure: Failure | null;
  /** Returns undefined when the call failed. */
  readonly run: <T>(work: () => Promise<T>, done?: string) => Promise<T | undefined>;
  readonly forget: () => void;
}

export function useAccountCall(): AccountCall {
  const { runFresh } = useIdentityConfirmation();
  const toast = useToast();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [pending, setPending] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  return {
    pending,
    failure,
    forget: () => setFailure(null),
    run: async (work, done) => {
      setPending(true);
      setFailure(null);
      try {
        const result = await runFresh(work);
        if (done !== undefined) toast({ title: done });
        await queryClient.invalidateQueries({ queryKey: trpc.account.pathKey() });
        return result;
      } catch (error) {
        if (!wasCancelled(error)) setFailure(readFailure(error));
        return undefined;
      } finally {
        setPending(false);
      }
    },
  };
}
