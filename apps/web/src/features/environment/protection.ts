'use client';
// Protection of an environment: its description, and the call that turns it on or off.
import { useToast } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

export const PROTECTION =
  "Deployments need another member's approval. Other changes need the right to approve deployments.";

export function useUpdateProtection() {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  return useAction(useFreshMutation(trpc.environment.update.mutationOptions()), "Protection wasn't changed", () => {
    void queryClient.invalidateQueries(trpc.environment.pathFilter());
    void queryClient.invalidateQueries(trpc.deployment.pathFilter());
    toast({ title: 'Protection changed' });
  });
}
