'use client';
// Restores a deleted app, and reports the result as a toast.
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeletedApp } from '../../api/types.ts';
import { type Action, failureToast } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';

export function useRestoreApp(): Action<{ readonly appId: DeletedApp['id'] }> {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  // Callbacks of the mutation itself, because Undo is chosen after the page of the app is gone.
  const { mutate, isPending } = useMutation(
    trpc.app.restore.mutationOptions({
      onSuccess: ({ slug }) => {
        void queryClient.invalidateQueries(trpc.app.pathFilter());
        toast({
          title: 'The app is restored',
          detail: 'Its servers start the release that was live.',
          action: { label: 'View', onSelect: () => router.push(paths.app(slug)) },
        });
      },
      onError: (error) => toast(failureToast("The app wasn't restored", error)),
    }),
  );
  return { pending: isPending, run: (input) => mutate(input) };
}
