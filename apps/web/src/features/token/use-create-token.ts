'use client';
// The calls that answer a new token. The API asks who sits there when the sign-in is not fresh any more, and the answer is
// dropped from the browser's caches as soon as it was shown.
import { useMutation } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs } from '../../api/types.ts';
import { useFreshly } from '../../common/confirm-identity.tsx';

export function useCreateToken() {
  const freshly = useFreshly();
  const call = useMutation(useTRPC().token.create.mutationOptions({ gcTime: 0 }));
  return useMutation({
    gcTime: 0,
    mutationFn: (input: Inputs['token']['create']) => freshly(() => call.mutateAsync(input)),
  });
}

export function useCreateServiceToken() {
  const freshly = useFreshly();
  const call = useMutation(useTRPC().serviceAccount.createToken.mutationOptions({ gcTime: 0 }));
  return useMutation({
    gcTime: 0,
    mutationFn: (input: Inputs['serviceAccount']['createToken']) => freshly(() => call.mutateAsync(input)),
  });
}
