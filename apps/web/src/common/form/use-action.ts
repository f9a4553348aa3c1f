'use client';
// Runs a user's action: its button is pending meanwhile, and a failure shows the API's message as a toast.
import { type ToastInput, useToast } from '@fairlead/ui/toast';
import type { UseMutationResult } from '@tanstack/react-query';
import { isUnanswered, readFailure } from '../../api/failure.ts';
import { wasCancelled } from '../identity/confirm-identity.tsx';

export interface Action<Input> {
  readonly pending: boolean;
  readonly run: (input: Input) => void;
}

export function useAction<Output, Input>(
  mutation: UseMutationResult<Output, unknown, Input>,
  failedTitle: string,
  onDone: (output: Output) => void,
): Action<Input> {
  const toast = useToast();
  const run = (input: Input): void =>
    mutation.mutate(input, {
      onSuccess: onDone,
      onError: (error) => {
        if (!wasCancelled(error)) toast(failureToast(failedTitle, error, () => run(input)));
      },
    });
  return { pending: mutation.isPending, run };
}

/** `retry` is offered only if the call got no response. */
export function failureToast(title: string, error: unknown, retry?: () => void): ToastInput {
  const failure = readFailure(error);
  const id = failure.errorId === null ? '' : ` (error ${failure.errorId})`;
  return {
    tone: 'bad',
    title,
    detail: `${failure.message}${id}`,
    ...(retry !== undefined && isUnanswered(failure) ? { action: { label: 'Try again', onSelect: retry } } : {}),
  };
}
