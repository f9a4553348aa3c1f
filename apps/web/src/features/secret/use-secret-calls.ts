'use client';
// The calls that carry values. What was sent or revealed is dropped from the browser's caches as soon as it was used.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/confirm-identity.tsx';

/** Reads every list of secrets again. */
export function useReread(): () => void {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  return () => void queryClient.invalidateQueries(trpc.secret.pathFilter());
}

export function useUpdateSecrets() {
  return useMutation(useTRPC().secret.update.mutationOptions({ gcTime: 0 }));
}

/** Asks who sits there when the sign-in is not fresh any more. */
export function useReveal() {
  const reveal = useFreshMutation(useTRPC().secret.reveal.mutationOptions({ gcTime: 0 }));
  return (secretId: string, number: number) => reveal.mutateAsync({ secretId, number });
}
