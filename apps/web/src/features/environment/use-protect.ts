'use client';
// Puts an environment under protection, or takes it off.
import { useToast } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/confirm-identity.tsx';
import { useAction } from '../../common/use-action.ts';

export function useProtect() {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  return useAction(useFreshMutation(trpc.environment.update.mutationOptions()), "It wasn't changed", () => {
    void queryClient.invalidateQueries(trpc.environment.pathFilter());
    void queryClient.invalidateQueries(trpc.deployment.pathFilter());
    toast({ title: 'The protection is changed' });
  });
}
