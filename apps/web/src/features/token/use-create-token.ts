'use client';
// Calls that return a new token. They drop its value from the browser's caches as soon as it was shown.
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

export function useCreateToken() {
  return useFreshMutation(useTRPC().token.create.mutationOptions({ gcTime: 0 }));
}

export function useCreateServiceToken() {
  return useFreshMutation(useTRPC().serviceAccount.createToken.mutationOptions({ gcTime: 0 }));
}
