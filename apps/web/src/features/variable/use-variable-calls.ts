'use client';
// Calls that carry values of variables. They drop a value from the browser's caches as soon as it was used.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs, SecretOwner, UpdatedVariables } from '../../api/types.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

/** Returns a function that refetches every list of variables and secrets, and the settings that contain the plain ones. */
export function useRefetchVariables(): () => void {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  return () => {
    for (const filter of [trpc.variable.pathFilter(), trpc.secret.pathFilter(), trpc.config.pathFilter()]) {
      void queryClient.invalidateQueries(filter);
    }
  };
}

export function useUpdateSecrets() {
  return useMutation(useTRPC().secret.update.mutationOptions({ gcTime: 0 }));
}

export interface VariableChange {
  readonly plain?: Inputs['variable']['update']['plain'];
  readonly secrets?: Inputs['secret']['update']['items'];
  /** Names of plain variables to delete. */
  readonly deleted?: readonly string[];
}

/** Placement whose variables change. */
export type PlacementOwner = Extract<SecretOwner, { appId: string }>;

/** Saves plain variables and secrets of a placement in one step. Secrets alone need no right to change the app. */
export function useSaveVariables(placement: PlacementOwner, plainNames: ReadonlySet<string>) {
  const trpc = useTRPC();
  const update = useMutation(trpc.variable.update.mutationOptions({ gcTime: 0 }));
  const updateSecrets = useUpdateSecrets();
  return useMutation({
    gcTime: 0,
    mutationFn: async ({ plain = [], secrets = [], deleted = [] }: VariableChange): Promise<UpdatedVariables> => {
      const leavesPlain = secrets.some(({ name }) => plainNames.has(name));
      if (plain.length > 0 || deleted.length > 0 || leavesPlain) {
        return update.mutateAsync({ ...placement, plain, secrets, deleted: [...deleted] });
      }
      return { ...(await updateSecrets.mutateAsync({ owner: placement, items: secrets })), deleted: [] };
    },
  });
}

/** Reveals a value, and confirms the identity first if the session is not fresh. */
export function useReveal() {
  const reveal = useFreshMutation(useTRPC().secret.reveal.mutationOptions({ gcTime: 0 }));
  return (secretId: string, number: number) => reveal.mutateAsync({ secretId, number });
}
