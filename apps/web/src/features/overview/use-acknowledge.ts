'use client';
// Hides entries of the overview until they change, and shows them again.
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Inputs } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';

type Input = Inputs['overview']['acknowledge'];

/** An entry, or without a subject all of a kind and cause. */
export type AcknowledgeInput = Omit<Input, 'projectId'>;

export interface AttentionAct {
  readonly pending: boolean;
  readonly run: (input: AcknowledgeInput) => void;
}

export function useAcknowledge(projectId: Input['projectId']): {
  readonly acknowledge: AttentionAct;
  readonly restore: AttentionAct;
} {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const refresh = () => {
    void queryClient.invalidateQueries(trpc.overview.pathFilter());
    void queryClient.invalidateQueries(trpc.deployment.list.pathFilter());
  };
  const restore = useAction(useMutation(trpc.overview.restore.mutationOptions()), "It wasn't shown again", refresh);
  const acknowledge = useAction(
    useMutation(trpc.overview.acknowledge.mutationOptions()),
    "It wasn't acknowledged",
    refresh,
  );
  const within = (input: AcknowledgeInput): Input => ({ ...input, ...(projectId === undefined ? {} : { projectId }) });
  return {
    acknowledge: {
      pending: acknowledge.pending,
      run: (input) => {
        acknowledge.run(within(input));
        toast({
          title: 'Acknowledged',
          detail: 'Hidden for you until it changes.',
          action: { label: 'Undo', onSelect: () => restore.run(within(input)) },
        });
      },
    },
    restore: { pending: restore.pending, run: (input) => restore.run(within(input)) },
  };
}
