'use client';
// Dialogs that the API asks for: tries a call, shows the dialog that its refusal asks for, and tries again. The dialogs are
// "confirm your identity" (session.not_fresh) and "confirm your second factor". They take the place of an open dialog.
import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { readFailure } from '../../api/failure.ts';

const ConfirmIdentityDialog = dynamic(
  () => import('./confirm-identity-dialog.tsx').then((module) => module.ConfirmIdentityDialog),
  { ssr: false },
);

/** Proof that the API may require before it runs a call. */
export type Proof = 'session.not_fresh' | 'session.second_factor_required';

interface IdentityConfirmation {
  /** Runs work that may need a proof. Rejects with the API's refusal when the person closes the dialog. */
  readonly runFresh: <T>(work: () => Promise<T>) => Promise<T>;
  /** Shows a dialog; false when the person closed it. */
  readonly confirm: (proof: Proof) => Promise<boolean>;
}

const SENTENCE: Readonly<Record<Proof, string>> = {
  'session.not_fresh': "Confirm that it's you, then try again.",
  'session.second_factor_required': 'Confirm with a passkey or a code first, then try again.',
};

function isProof(code: string | null): code is Proof {
  return code !== null && Object.hasOwn(SENTENCE, code);
}

/** Returns identity's refusal outside the API's procedures in the API's shape; null when it asks for no proof. */
export function proofError(code: string): Error | null {
  return isProof(code) ? Object.assign(new Error(SENTENCE[code]), { data: { errorCode: code } }) : null;
}

const cancelled = new WeakSet<object>();

/** Reports whether the person closed the dialog that this refusal opened. Pages then show no failure. */
export function wasCancelled(error: unknown): boolean {
  return typeof error === 'object' && error !== null && cancelled.has(error);
}

/** Runs work, asks for the proof that its refusal names, and runs it again. */
export async function withProof<T>(work: () => Promise<T>, confirm: IdentityConfirmation['confirm']): Promise<T> {
  const confirmed = new Set<Proof>();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const { code } = readFailure(error);
      // Shows each dialog once: if the API does not accept the answer, asking again would not help.
      if (!isProof(code) || confirmed.has(code)) throw error;
      if (!(await confirm(code))) {
        if (typeof error === 'object' && error !== null) cancelled.add(error);
        throw error;
      }
      confirmed.add(code);
    }
  }
}

const IdentityConfirmationContext = createContext<IdentityConfirmation | null>(null);

export function useIdentityConfirmation(): IdentityConfirmation {
  const confirmation = useContext(IdentityConfirmationContext);
  if (confirmation === null) throw new Error('useIdentityConfirmation needs a ConfirmIdentityProvider above it');
  return confirmation;
}

/** Mutation for a procedure that may require a fresh session. Use it for every procedure that declares `fresh`. */
export function useFreshMutation<Output, Failure, Input, Context>(
  options: UseMutationOptions<Output, Failure, Input, Context>,
): UseMutationResult<Output, Failure, Input, Context> {
  const { runFresh } = useIdentityConfirmation();
  const { mutationFn } = options;
  if (mutationFn === undefined) throw new TypeError('a mutation needs its function');
  return useMutation({ ...options, mutationFn: (input, context) => runFresh(() => mutationFn(input, context)) });
}

export interface PendingProof {
  readonly proof: Proof;
  readonly answer: (isConfirmed: boolean) => void;
}

/** Requires an ApiProvider above it. */
export function ConfirmIdentityProvider({ children }: { readonly children: ReactNode }) {
  const [pending, setPending] = useState<PendingProof | null>(null);
  const [wasAsked, setWasAsked] = useState(false);
  const confirm = useCallback(async (proof: Proof): Promise<boolean> => {
    setWasAsked(true);
    const isConfirmed = await new Promise<boolean>((answer) => setPending({ proof, answer }));
    setPending(null);
    return isConfirmed;
  }, []);
  const runFresh = useCallback(<T,>(work: () => Promise<T>): Promise<T> => withProof(work, confirm), [confirm]);
  return (
    <IdentityConfirmationContext value={{ runFresh, confirm }}>
      {children}
      {wasAsked ? <ConfirmIdentityDialog pending={pending} /> : null}
    </IdentityConfirmationContext>
  );
}
