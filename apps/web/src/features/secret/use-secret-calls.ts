'use client';
// Calls that carry secret values. They drop a value from the browser's caches as soon as it was used.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

/** Returns a function that refetches every list of secrets. */
export function useRefetchSecrets(): () => void {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  return () => void queryClient.invalidateQueries(trpc.secret.pathFilter());
}

export function useUpdateSecrets() {
  return useMutation(useTRPC().secret.update.mutationOptions({ gcTime: 0 }));
}

/** Reveals a value, and confirms the identity first if the session is not fresh. */
export function useReveal() {
  const reveal = useFreshMutation(useTRPC().secret.reveal.mutationOptions({ gcTime: 0 }));
  return (secretId: string, number: number) => reveal.mutateAsync({ secretId, number });
}
