'use client';
// Turns the protection of an environment on or off.
import { useToast } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

export function useProtect() {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  return useAction(useFreshMutation(trpc.environment.update.mutationOptions()), "Protection wasn't changed", () => {
    void queryClient.invalidateQueries(trpc.environment.pathFilter());
    void queryClient.invalidateQueries(trpc.deployment.pathFilter());
    toast({ title: 'Protection changed' });
  });
}
