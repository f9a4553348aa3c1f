'use client';
// Something a person does: while it runs its button waits, and when it fails a message says why with the API's sentence.
import { useToast } from '@fairlead/ui/toast';
import type { UseMutationResult } from '@tanstack/react-query';
import { readFailure } from '../api/failure.ts';
import { wasCancelled } from './confirm-identity.tsx';

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
  return {
    pending: mutation.isPending,
    run: (input) =>
      mutation.mutate(input, {
        onSuccess: onDone,
        onError: (error) => {
          if (wasCancelled(error)) return;
          const failure = readFailure(error);
          const id = failure.errorId === null ? '' : ` (error ${failure.errorId})`;
          toast({ tone: 'bad', title: failedTitle, detail: `${failure.message}${id}` });
        },
      }),
  };
}
